/* ---- special functions */

#define IND_OPS_SPECIAL(X)                                                                                             \
    X(ERF, "erf", "self", "", 1, "PF_")                                                                                \
    X(ERFC, "erfc", "self", "", 1, "PF_")                                                                              \
    X(LGAMMA, "lgamma", "self", "", 1, "PF_")                                                                          \
    X(ERFINV, "erfinv", "self", "", 1, "PF_")                                                                          \
    X(DIGAMMA, "digamma", "self", "", 1, "PF_")                                                                        \
    X(I0, "i0", "self", "", 1, "PF_")                                                                                  \
    X(SPECIAL_I0E, "special_i0e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_I1, "special_i1", "self", "", 1, "PF")                                                                   \
    X(SPECIAL_I1E, "special_i1e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_BESSEL_J0, "special_bessel_j0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_J1, "special_bessel_j1", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y0, "special_bessel_y0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y1, "special_bessel_y1", "self", "", 1, "PF")                                                     \
    X(POLYGAMMA, "polygamma", "self", "n:int", 1, "PF_")                                                               \
    X(SPECIAL_ZETA, "special_zeta", "self other", "", 1, "PF")                                                         \
    X(IGAMMA, "igamma", "self other", "", 1, "Pf_")                                                                    \
    X(IGAMMAC, "igammac", "self other", "", 1, "Pf_")

#define IND_COMPOSITES_SPECIAL(X)                                                                                      \
    X(SPECIAL_ENTR, "special_entr", "self", "", 1, "E")                                                                \
    X(SPECIAL_XLOG1PY, "special_xlog1py", "self other", "", 1, "PE")                                                   \
    X(SPECIAL_NDTR, "special_ndtr", "self", "", 1, "E")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_erf(ind_tensor a);

/* torch.<name> of one tensor. Integers give f32; abs, the roundings, sign and square keep their type. bool is refused
   where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_erfc(ind_tensor a);
IND_API ind_tensor ind_lgamma(ind_tensor a);
IND_API ind_tensor ind_erfinv(ind_tensor a);
IND_API ind_tensor ind_digamma(ind_tensor a);
IND_API ind_tensor ind_i0(ind_tensor a); /* modified Bessel functions of the first kind; e: times exp(-|a|) */
IND_API ind_tensor ind_special_i0e(ind_tensor a);
IND_API ind_tensor ind_special_i1(ind_tensor a);
IND_API ind_tensor ind_special_i1e(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j1(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y1(ind_tensor a);
IND_API ind_tensor ind_polygamma(int n, ind_tensor a); /* the n-th derivative of digamma */

/* torch.<name> of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_special_zeta(ind_tensor a, ind_tensor b); /* Hurwitz zeta: sum of (b + k) ** -a */
IND_API ind_tensor ind_igamma(ind_tensor a, ind_tensor b);       /* regularised; igammac is 1 - igamma */
IND_API ind_tensor ind_igammac(ind_tensor a, ind_tensor b);
