/* ---------------------------------------------------------------------------------------------- >>internal */

#define IND__ALIGNMENT 256 /* bytes: of offsets and sizes in the arena */

/* What kernels are made by, and the scheduler counts with. */
#define IND__WARP_ROW     1024 /* longest row that one warp holds */
#define IND__SCAN_COLUMNS 1024 /* rows from which on each is scanned by one thread, if that makes reads contiguous */

/* Which loop variables each instruction's value depends on: bit v of mask[i] stands for body->var[v]. mask has num_inst
   entries. The result of a REDUCE depends on no reduction variable, that of a SCAN on all. */
void ind__body_var_masks(const ind_body *body, uint32_t *mask);
