/* ------------------------------------------------------------------------------------------------ >>config */

#ifndef IND_API
#define IND_API extern
#endif

#define IND_MAX_RANK 8 /* dimensions of a tensor; more give IND_ERROR_LIMIT with the op's name */
