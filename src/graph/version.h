/* ----------------------------------------------------------------------------------------------- >>version */

#define IND_VERSION 100 /* major * 10000 + minor * 100 + patch: 0.1.0 */

/* The version of the implementation. Declarations and implementation must have the same major and minor number: structs
   grow at their end in minor versions, and nothing but their behaviour changes in patches. */
IND_API int ind_version(void);
