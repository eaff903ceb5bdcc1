/* ---- complex numbers as pairs */

#define IND_COMPOSITES_COMPLEX(X)                                                                                      \
    X(VIEW_AS_REAL, "view_as_real", "self", "", 1, "E")                                                                \
    X(VIEW_AS_COMPLEX, "view_as_complex", "self", "", 1, "E")                                                          \
    X(REAL, "real", "self", "", 1, "E")                                                                                \
    X(IMAG, "imag", "self", "", 1, "E")                                                                                \
    X(COMPLEX, "complex", "real imag", "", 1, "Eo")                                                                    \
    X(POLAR, "polar", "abs angle", "", 1, "Eo")
