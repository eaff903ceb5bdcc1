/* ------------------------------------------------------------------------------------------------ >>prelude */

/* The functions that a source may use: name, and the functions that they call. The .cuh files have their text. A source
   contains the functions that it uses, in this order. Under IND_EMULATION inline PTX is excluded; the including file
   defines those functions. */
/* clang-format off */
#define IND__CG_NEEDS(...) __VA_ARGS__
#define IND__CG_PRELUDE(X)                                                                             \
    X(DEPENDENCY, 0)                                                                                   \
    X(TRIGGER, 0)                                                                                      \
    X(TASKS, 0)                                                                                        \
    X(F16, 0)                                                                                          \
    X(BF16, 0)                                                                                         \
    X(VEC, 0)                                                                                          \
    X(BOUNDARY, 0)                                                                                     \
    X(LOAD_ACROSS, IND__CG_NEEDS(IND__CG_VEC))                                                         \
    X(LOAD_WORDS, IND__CG_NEEDS(IND__CG_VEC))                                                          \
    X(STORE_ACROSS, IND__CG_NEEDS(IND__CG_VEC))                                                        \
    X(LOAD_PAST, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(LOAD_ONCE, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(PREFETCH, 0)                                                                                     \
    X(LOAD_RUN, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(EVICT_LAST_POLICY, 0)                                                                            \
    X(EVICT_LAST, IND__CG_NEEDS(IND__CG_EVICT_LAST_POLICY))                                            \
    X(MAXMIN, 0)                                                                                       \
    X(DIV, 0)                                                                                          \
    X(MOD, 0)                                                                                          \
    X(SHIFT, 0)                                                                                        \
    X(GCD, 0)                                                                                          \
    X(DIGAMMA, 0)                                                                                      \
    X(BESSEL_IE, 0)                                                                                    \
    X(BESSEL_JY, 0)                                                                                    \
    X(ZETA, 0)                                                                                         \
    X(IGAMMA, 0)                                                                                       \
    X(POW, 0)                                                                                          \
    X(F8E4M3FN, 0)                                                                                     \
    X(F8E5M2, 0)                                                                                       \
    X(FLOAT8_PAIRS, IND__CG_NEEDS(IND__CG_F8E4M3FN, IND__CG_F16))                                      \
    X(PHILOX, 0)                                                                                       \
    X(QUOTIENT, 0)                                                                                     \
    X(FLOORDIV, 0)                                                                                     \
    X(INDEX, 0)                                                                                        \
    X(ATOMIC, 0)                                                                                       \
    X(ADD_F32, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(ADD_F16, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(ADD_BF16, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(SUM, 0)                                                                                          \
    X(PROD, 0)                                                                                         \
    X(MAX, IND__CG_NEEDS(IND__CG_MAXMIN))                                                              \
    X(MAX_WARP, IND__CG_NEEDS(IND__CG_MAX))                                                            \
    X(MAX_BF16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_BF16, IND__CG_MAX))                                 \
    X(MAX_F16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16, IND__CG_MAX))                                   \
    X(MIN, IND__CG_NEEDS(IND__CG_MAXMIN))                                                              \
    X(ANY, 0)                                                                                          \
    X(ARGMAX, 0)                                                                                       \
    X(WELFORD, 0)                                                                                      \
    X(EXP_BELOW, 0)                                                                                    \
    X(APPROXIMATE, IND__CG_NEEDS(IND__CG_EXP_BELOW))                                                   \
    X(RECIPROCAL_OF_SUM, 0)                                                                            \
    X(SOFTMAX, IND__CG_NEEDS(IND__CG_MAXMIN, IND__CG_EXP_BELOW))                                       \
    X(COMBINE_LANES, 0)                                                                                   \
    X(COMBINE_MOMENTS, IND__CG_NEEDS(IND__CG_WELFORD, IND__CG_SUM, IND__CG_COMBINE_LANES))                   \
    X(COMBINE_SHARED, 0)                                                                                  \
    X(COMBINE_WARPS, 0)                                                                                   \
    X(COMBINE_STRIDED, 0)                                                                                   \
    X(COMBINE_NEIGHBOURS, 0)                                                                              \
    X(LAST_BLOCK, 0)                                                                                   \
    X(LAST_WARP, 0)                                                                                    \
    X(TURN, 0)                                                                                         \
    X(SPLIT_WORDS, IND__CG_NEEDS(IND__CG_TURN))                                                        \
    X(CLUSTER, 0)                                                                                      \
    X(CP_ASYNC, 0)                                                                                     \
    X(CP_ASYNC_PART, IND__CG_NEEDS(IND__CG_CP_ASYNC))                                                  \
    X(HIDDEN, 0)                                                                                       \
    X(CP_ASYNC_BY, IND__CG_NEEDS(IND__CG_CP_ASYNC))                                                    \
    X(BF16_AT, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(OPAQUE, IND__CG_NEEDS(IND__CG_VEC))                                                                \
    X(LDMATRIX, 0)                                                                                     \
    X(MMA_F16, 0)                                                                                      \
    X(MMA_BF16, 0)                                                                                     \
    X(MMA_HALVES, IND__CG_NEEDS(IND__CG_MMA_F16, IND__CG_MMA_BF16))                                    \
    X(MMA_BYTES, 0)                                                                                    \
    X(MMA_WORDS, 0)                                                                                    \
    X(PROMOTE, 0)                                                                                      \
    X(PROMOTE_SCALED, 0)                                                                               \
    X(HALF_TILE, 0)                                                                                    \
    X(TILE_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC, IND__CG_HALF_TILE))                                   \
    X(CHUNK_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC))                                                     \
    X(CHUNK_COPY_PART, IND__CG_NEEDS(IND__CG_CHUNK_COPY, IND__CG_CP_ASYNC_PART))                       \
    X(FIND_GROUP, 0)                                                                                   \
    X(MMA_TILE, IND__CG_NEEDS(IND__CG_HALF_TILE, IND__CG_LDMATRIX))                                    \
    X(PACK_F16, IND__CG_NEEDS(IND__CG_F16))                                                            \
    X(PACK_BF16, IND__CG_NEEDS(IND__CG_BF16))                                                          \
    X(ONLINE_ROWS, IND__CG_NEEDS(IND__CG_MAXMIN, IND__CG_EXP_BELOW))                                   \
    X(MMA_WEIGHTED, IND__CG_NEEDS(IND__CG_MMA_TILE, IND__CG_MMA_HALVES))                               \
    X(WGMMA, IND__CG_NEEDS(IND__CG_HALF_TILE))                                                         \
    X(WGMMA_READY, IND__CG_NEEDS(IND__CG_WGMMA))                                                       \
    X(PACK_WEIGHTS, 0)                                                                                 \
    X(MMA_KEYS, IND__CG_NEEDS(IND__CG_MMA_TILE, IND__CG_MMA_HALVES))                                   \
    X(TILE_FLOAT4, IND__CG_NEEDS(IND__CG_VEC, IND__CG_HALF_TILE))                                      \
    X(BYTES_TO_F32, IND__CG_NEEDS(IND__CG_VEC))                                                        \
    X(FLOATS8_TO_F32, IND__CG_NEEDS(IND__CG_VEC, IND__CG_FLOAT8_PAIRS))                                \
    X(FMA_KEYS, IND__CG_NEEDS(IND__CG_TILE_FLOAT4))                                                    \
    X(FMA_WEIGHTED, IND__CG_NEEDS(IND__CG_TILE_FLOAT4))                                                  \
    X(TF32_KEYS, IND__CG_NEEDS(IND__CG_MMA_TILE, IND__CG_MMA_WORDS))                                   \
    X(TF32_WEIGHTED, IND__CG_NEEDS(IND__CG_MMA_TILE, IND__CG_MMA_WORDS))                               \
    X(TRANSPOSE_PANELS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_HALF_TILE))                                 \
    X(BULK_COPY, 0)                                                                                    \
    X(MULTICAST, IND__CG_NEEDS(IND__CG_BULK_COPY))                                                     \
    X(WINDOWS, IND__CG_NEEDS(IND__CG_BULK_COPY))                                                       \
    X(MULTICAST_WINDOWS, IND__CG_NEEDS(IND__CG_MULTICAST))                                             \
    X(TCGEN05, 0)                                                                                      \
    X(SUM_TILE, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(ADD_PARTS, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(ADD_SUMS, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_SUM_TILE, IND__CG_LAST_BLOCK))                \
    X(ADD_FRAGMENTS, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_LAST_WARP))                              \
    X(ADD_ROWS, IND__CG_NEEDS(IND__CG_SUM_TILE, IND__CG_CLUSTER))                                      \
    X(ADD_SLICES, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_CLUSTER))                                   \
    X(MMA_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                          \
    X(COMBINE_WARPS_OF_KEYS, IND__CG_NEEDS(IND__CG_SOFTMAX, IND__CG_ONLINE_ROWS, IND__CG_MMA_SUMS))    \
    X(NEW_ROWS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_HALF_TILE))                                         \
    X(COMBINE_BLOCKS_OF_KEYS, IND__CG_NEEDS(IND__CG_COMBINE_WARPS_OF_KEYS, IND__CG_LAST_BLOCK))        \
    X(STRIP_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                        \
    X(ROW_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                          \
    X(FMA_TILE, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                          \
    X(PACKED_BITS, 0)                                                                                  \
    X(PACKED, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16, IND__CG_BF16, IND__CG_MMA_F16, IND__CG_MMA_BF16,  \
                            IND__CG_PACKED_BITS))                                                      \
    X(PACKED_MAPS, IND__CG_NEEDS(IND__CG_PACKED, IND__CG_BULK_COPY))                                     \
    X(PACKED_COPIES, IND__CG_NEEDS(IND__CG_PACKED, IND__CG_CP_ASYNC_PART))                               \
    X(PACKED_I8, 0)                                                                                    \
    X(PACKED_F8, IND__CG_NEEDS(IND__CG_FLOAT8_PAIRS))                                                     \
    X(PACKED_Q8_0, 0)                                                                                  \
    X(PACKED_Q4, 0)                                                                                    \
    X(PACKED_Q45_K, 0)                                                                                 \
    X(PACKED_SCALED, 0)                                                                                \
    X(PACKED_Q2_K, IND__CG_NEEDS(IND__CG_PACKED_SCALED))                                               \
    X(PACKED_Q3_K, IND__CG_NEEDS(IND__CG_PACKED_SCALED))                                               \
    X(PACKED_Q6_K, 0)                                                                                  \
    X(PACKED_IQ4, 0)                                                                                   \
    X(PACKED_INT4, 0)                                                                                  \
    X(PACKED_E2M1, IND__CG_NEEDS(IND__CG_PACKED_INT4))                                                 \
    X(PACKED_NVFP4, IND__CG_NEEDS(IND__CG_PACKED_E2M1, IND__CG_F8E4M3FN))                              \
    X(PACKED_TILES, IND__CG_NEEDS(IND__CG_PACKED_MAPS, IND__CG_WGMMA, IND__CG_PACK_F16,                \
                                  IND__CG_PACK_BF16, IND__CG_SUM_TILE))                                \
    X(PACKED8, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16))                                                \
    X(PACKED8_Q8_0, IND__CG_NEEDS(IND__CG_PACKED8))                                                    \
    X(PACKED8_Q4, IND__CG_NEEDS(IND__CG_PACKED8, IND__CG_PACKED_BITS))                                 \
    X(PACKED8_Q45_K, IND__CG_NEEDS(IND__CG_PACKED8))                                                   \
    X(PACKED8_Q2_K, IND__CG_NEEDS(IND__CG_PACKED8))                                                    \
    X(PACKED8_Q3_K, IND__CG_NEEDS(IND__CG_PACKED8))                                                    \
    X(PACKED8_Q6_K, IND__CG_NEEDS(IND__CG_PACKED8))                                                    \
    X(PACKED8_IQ4, IND__CG_NEEDS(IND__CG_PACKED8, IND__CG_PACKED_BITS))                                \
    X(PACKED8_I8, IND__CG_NEEDS(IND__CG_PACKED8))                                                      \
    X(PACKED8_BESIDE, IND__CG_NEEDS(IND__CG_PACKED8))                                                  \
    X(PACKED8_INT4, IND__CG_NEEDS(IND__CG_PACKED8_BESIDE))                                             \
    X(PACKED8_E2M1, IND__CG_NEEDS(IND__CG_PACKED8_BESIDE, IND__CG_PACKED_BITS, IND__CG_FLOAT8_PAIRS))  \
    X(PACKED8_F8, IND__CG_NEEDS(IND__CG_PACKED8_BESIDE, IND__CG_FLOAT8_PAIRS))                         \
    X(SCAN_SUM, 0)                                                                                     \
    X(SCAN_PROD, 0)                                                                                    \
    X(SCAN_LOG, 0)                                                                                     \
    X(SCAN_EXTREME, 0)                                                                                 \
    X(SCAN, 0)                                                                                         \
    X(ROW_BYTES, 0)                                                                                    \
    X(VEC_PART, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(SCAN_TEAM, 0)                                                                                    \
    X(LOOKBACK, IND__CG_NEEDS(IND__CG_SCAN))                                                           \
    X(SCAN_MAYBE, 0)                                                                                   \
    X(SORT_F16, IND__CG_NEEDS(IND__CG_F16))                                                            \
    X(SORT_BF16, IND__CG_NEEDS(IND__CG_BF16))                                                          \
    X(SORT, 0)                                                                                         \
    X(SORT_LONG, IND__CG_NEEDS(IND__CG_SORT))
/* clang-format on */

enum {
    IND__CG_NO_PIECE,
#define X(name, needs) IND__CG_##name,
    IND__CG_PRELUDE(X)
#undef X
        IND__CG_NUM_PRELUDE
};
_Static_assert(IND__CG_NUM_PRELUDE <= IND__CG_MAX_PRELUDE, "prelude functions are bits of ind__prelude_set");

static const struct {
    uint8_t needs[6];        /* up to the first IND__CG_NO_PIECE */
    const char *const *line; /* up to NULL */
} cg__prelude[] = {{{0}, NULL},
#define X(name, needs) {{needs}, cg__prelude_##name},
                   IND__CG_PRELUDE(X)
#undef X
};

/* Adds a prelude function and the functions that it calls. */
static void cg__add_prelude(ind__prelude_set *set, int function) {
    set->word[function / 64] |= 1ull << function % 64;
    for (size_t i = 0; i < sizeof cg__prelude[function].needs && cg__prelude[function].needs[i]; i++)
        cg__add_prelude(set, cg__prelude[function].needs[i]);
}

static void cg__add_prelude_set(ind__prelude_set *set, const ind__prelude_set *more) {
    for (size_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) set->word[i] |= more->word[i];
}

/* Adds a prelude function to the source. */
static void cg__use(ind__writer *w, int function) {
    cg__add_prelude(&w->prelude, function);
}
