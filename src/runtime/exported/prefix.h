/* With IND_PREFIX, as in -DIND_PREFIX=mine_, all external symbols of the headers begin with it. Two versions of the
   library can then be in one program. All files that include the headers need the same prefix. tools/symbols.py writes
   these macros. */
#ifdef IND_PREFIX
#define IND__JOINED(prefix, name) prefix##name
#define IND__JOIN(prefix, name)   IND__JOINED(prefix, name)
#define IND__PREFIXED(name)       IND__JOIN(IND_PREFIX, name)
/* clang-format off */
#define ind_exported_alloc IND__PREFIXED(ind_exported_alloc)
#define ind_exported_bytes IND__PREFIXED(ind_exported_bytes)
#define ind_exported_check IND__PREFIXED(ind_exported_check)
#define ind_exported_close IND__PREFIXED(ind_exported_close)
#define ind_exported_constant IND__PREFIXED(ind_exported_constant)
#define ind_exported_constants_changed IND__PREFIXED(ind_exported_constants_changed)
#define ind_exported_download IND__PREFIXED(ind_exported_download)
#define ind_exported_error IND__PREFIXED(ind_exported_error)
#define ind_exported_free IND__PREFIXED(ind_exported_free)
#define ind_exported_launch IND__PREFIXED(ind_exported_launch)
#define ind_exported_open IND__PREFIXED(ind_exported_open)
#define ind_exported_upload IND__PREFIXED(ind_exported_upload)
#define ind_exported_weights IND__PREFIXED(ind_exported_weights)
/* clang-format on */
#endif
