/* ----------------------------------------------------------------------------------------------- >>version */

#define IND_VERSION 200 /* major * 10000 + minor * 100 + patch: 0.2.0 */

/* The version of the implementation. Declarations and implementation must have the same major and minor number: patches
   change neither declarations nor structs. */
IND_API int ind_version(void);
