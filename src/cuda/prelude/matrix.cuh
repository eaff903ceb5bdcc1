// Tiles of matrix products: copies, tensor cores, FMA.
//@ LDMATRIX
#ifndef IND_EMULATION
static IND_INLINE void ind_ldmatrix_x4(unsigned (&r)[4], const void *smem) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(smem)) : "memory");
}
static IND_INLINE void ind_ldmatrix_x4_trans(unsigned (&r)[4], const void *smem) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(smem)) : "memory");
}
#endif
//@ MMA_F16
#ifndef IND_EMULATION
static IND_INLINE void ind_mma_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
//@ MMA_BF16
#ifndef IND_EMULATION
static IND_INLINE void ind_mma_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
//@ MMA_HALVES
// The mma.sync of 16-bit operands.
template <bool BF16> struct ind_mma_halves {
    enum { WORDS = 0 };
    static IND_INLINE void round(unsigned (&)[4]) {}
    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        if (BF16) {
            ind_mma_bf16(c, a, b);
        } else {
            ind_mma_f16(c, a, b);
        }
    }
};
//@ MMA_BYTES
#ifndef IND_EMULATION
#define IND_MMA_F8(A, B)                                                                                               \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." A "." B ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "          \
                 "{%8, %9}, {%0, %1, %2, %3};"                                                                         \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <bool A_E5M2, bool B_E5M2>
static IND_INLINE void ind_mma_f8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (A_E5M2 && B_E5M2) {
        IND_MMA_F8("e5m2", "e5m2");
    } else if constexpr (A_E5M2) {
        IND_MMA_F8("e5m2", "e4m3");
    } else if constexpr (B_E5M2) {
        IND_MMA_F8("e4m3", "e5m2");
    } else {
        IND_MMA_F8("e4m3", "e4m3");
    }
}
static IND_INLINE void ind_mma_s8(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
// The mma.sync of 8-bit operands: floats with sums in f32, or i8. The lanes have the bytes that they would have of half as
// many 16-bit elements.
template <bool A_E5M2, bool B_E5M2> struct ind_mma_bytes {
    enum { WORDS = 0 };
    static IND_INLINE void round(unsigned (&)[4]) {}
    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        ind_mma_f8<A_E5M2, B_E5M2>(c, a, b);
    }
    static IND_INLINE void multiply(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        ind_mma_s8(c, a, b);
    }
};
//@ MMA_WORDS
#ifndef IND_EMULATION
static IND_INLINE unsigned ind_round_tf32(unsigned x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(x)));
    return y;
}
static IND_INLINE void ind_mma_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
// The mma.sync of f32 operands, which are rounded to tf32. The lanes have the bytes that they would have of twice as many
// 16-bit elements.
struct ind_mma_words {
    enum { WORDS = 1 };
    static IND_INLINE void round(unsigned (&r)[4]) {
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) r[i] = ind_round_tf32(r[i]);
    }
    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { ind_mma_tf32(c, a, b); }
};
//@ PROMOTE
// Adds sums that tensor cores have rounded.
template <int N> static IND_INLINE void ind_promote(float (&acc)[N][4], const float (&part)[N][4]) {
    _Pragma("unroll")
    for (int i = 0; i < N * 4; i++) acc[i / 4][i % 4] += part[i / 4][i % 4];
}
//@ PROMOTE_SCALED
// Adds sums of a block of k, times the scales of their rows and columns. A thread has two rows, and two columns of each 8:
// `col` has one scale for all of them, for each 8, or for each of the thread's columns.
template <int NI, int N>
static IND_INLINE void ind_promote_scaled(float (&acc)[NI][4], const float (&part)[NI][4], const float (&row)[2], const float (&col)[N]) {
    _Pragma("unroll")
    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] += part[i / 4][i % 4] * (row[i % 4 / 2] * col[(i / 4 * 2 + i % 2) * N / (2 * NI)]);
}
//@ HALF_TILE
// Offset of 8 adjacent 16-bit elements in a shared tile of ROWS rows of COLS elements. The tile consists of panels of 64
// columns. The chunks of a panel's row are permuted: one phase of ldmatrix reads 8 rows from 8 different groups of 4
// banks. These layouts are wgmma's 128-byte and 64-byte swizzle. ACROSS: 4 adjacent 32-bit elements of a tile [k][x]. A warp
// reads 8 columns of 4 rows, which are in 4 different groups of 8 banks.
template <int ROWS, int COLS, bool ACROSS = false> static IND_INLINE int ind_tile_at(int row, int chunk) {
    constexpr int W = COLS > 64 ? 64 : COLS;
    const int panel = COLS > 64 ? (chunk >> 3) * (ROWS * 64) : 0, in = COLS > 64 ? chunk & 7 : chunk;
    const int across = W >= 64 ? (row & 3) << 1 : row & 2, along = W >= 64 ? row & 7 : W == 32 ? row >> 1 & 3 : row >> 2 & 1;
    return panel + row * W + ((in ^ (ACROSS ? across : along)) << 3);
}
//@ TILE_COPY
// Bytes to copy of N adjacent elements, 16 bytes, if `left` of them are before the edge.
template <int N> static IND_INLINE int ind_chunk_bytes(long long left) {
    return left >= N ? 16 : left > 0 ? (int)left * (16 / N) : 0;
}
// Starts the copy of a tile. A thread copies one chunk of every THREADS / (COLS / 8)-th row, from from[at[0]],
// from[at[1]], ... It copies `bytes` of each chunk and sets the rest to zero. Rows from num_rows on, and rows whose bit in
// `in` is 0, are set to zero. CUT 1: `bytes` may be any; 2: `end` is the end of the tensor, before which all
// 16 bytes of a chunk need not exist.
template <int ROWS, int COLS, int THREADS, bool ACROSS = false, int CUT = 0, typename T, typename Index, int N>
static IND_INLINE void ind_tile_copy(unsigned short *tile, const T *from, const Index (&at)[N],
                                                     long long num_rows, int bytes, unsigned in, const T *end = nullptr) {
    constexpr int APART = THREADS / (COLS / 8), W = COLS > 64 ? 64 : COLS;
    const int first = threadIdx.x / (COLS / 8), chunk = threadIdx.x % (COLS / 8);
    _Pragma("unroll")
    for (int i = 0; i < N; i++) {
        const int row = i * APART + first;
        const int place = APART % 8 == 0 ? ind_tile_at<ROWS, COLS, ACROSS>(first, chunk) + i * APART * W
                                         : ind_tile_at<ROWS, COLS, ACROSS>(row, chunk);
        if (ROWS * COLS / 8 % THREADS == 0 || row < ROWS) {
            const bool inside = (num_rows >= ROWS || row < num_rows) && (in >> i & 1);
            if constexpr (CUT == 2)
                ind_cp_async16_before(tile + place, from + at[i], inside ? bytes : 0, end);
            else if constexpr (CUT == 1)
                ind_cp_async16_partial(tile + place, from + at[i], inside ? bytes : 0);
            else
                ind_cp_async16(tile + place, from + at[i], inside ? bytes : 0);
        }
    }
}
//@ CHUNK_COPY
#ifndef IND_EMULATION
static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(smem)), "l"(global), "r"(bytes)
                 : "memory");
}
#else
static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {
    for (int i = 0; i < 8; i++) { // as the device, reads all bytes
        const char byte = ((const volatile char *)global)[i];
        ((char *)smem)[i] = i < bytes ? byte : 0;
    }
}
#endif
// Starts the copy of 8 adjacent elements.
template <typename T> static IND_INLINE void ind_chunk_copy(T *to, const T *from) {
    if (sizeof(T) == 1) {
        ind_cp_async8(to, from, 8);
    } else {
        _Pragma("unroll")
        for (int c = 0; c < (int)sizeof(T) * 8; c += 16) ind_cp_async16((char *)to + c, (const char *)from + c, 16);
    }
}
//@ CHUNK_COPY_PART
// The same for the `left` elements before the edge, at least one; the rest is set to zero. `end`: of the tensor.
template <typename T> static IND_INLINE void ind_chunk_copy_part(T *to, const T *from, long long left, const T *end) {
    const int bytes = (left < 8 ? (int)left : 8) * (int)sizeof(T);
    if (sizeof(T) == 1) {
        if (end - from >= 8)
            ind_cp_async8(to, from, bytes);
        else
            ind_copy_part<8, 1>(to, from, bytes);
        return;
    }
    constexpr int N = 16 / (int)sizeof(T);
    _Pragma("unroll")
    for (int i = 0; i < 8; i += N) {
        const int from_i = bytes - i * (int)sizeof(T);
        ind_cp_async16_before(to + i, from + i, from_i < 0 ? 0 : from_i < 16 ? from_i : 16, end);
    }
}
//@ FIND_GROUP
template <typename T> struct ind_group_rows {
    int group;
    T first, end;
};
// The rows of tile number `tile`. Groups of rows end at ends[0 .. groups); the rows after them, up to `rows`, are group
// number `groups`. A tile has up to TM rows of one group. Beyond the last tile: no rows. A warp calls it; lanes count the
// tiles of 4 groups each.
template <typename T, int TM>
static IND_INLINE ind_group_rows<T> ind_find_group(const int *ends, int groups, T rows, int tile) {
    const int lane = threadIdx.x % 32;
    for (int from = 0; from <= groups; from += 128) {
        const int mine = from + lane * 4;
        T end[5] = {mine > 0 && mine <= groups ? (T)ends[mine - 1] : 0};
        int num[4], tiles = 0;
        _Pragma("unroll")
        for (int j = 0; j < 4; j++) {
            end[j + 1] = mine + j < groups ? ends[mine + j] : rows;
            num[j] = mine + j <= groups && end[j + 1] > end[j] ? (int)((end[j + 1] - end[j] + TM - 1) / TM) : 0;
            tiles += num[j];
        }
        int upto = tiles;
        _Pragma("unroll")
        for (int d = 1; d < 32; d *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, upto, d);
            if (lane >= d) upto += before;
        }
        const unsigned found = __ballot_sync(0xffffffffu, tile < upto);
        if (found) {
            int in = tile - (upto - tiles), group = mine;
            T first = end[0], stop = end[1];
            _Pragma("unroll")
            for (int j = 0; j < 3; j++) {
                if (group != mine + j || in < num[j]) continue;
                in -= num[j];
                group++;
                first = end[j + 1];
                stop = end[j + 2];
            }
            const int owner = __ffs((int)found) - 1;
            first += (T)in * TM;
            return {__shfl_sync(0xffffffffu, group, owner), __shfl_sync(0xffffffffu, first, owner),
                    __shfl_sync(0xffffffffu, stop, owner)};
        }
        tile -= __shfl_sync(0xffffffffu, upto, 31);
    }
    return {groups, rows, rows};
}
//@ MMA_TILE
// The element at (k, x) of a tile [k][x] of TK / 2 rows of 32-bit elements.
template <int TX, int TK> static IND_INLINE unsigned ind_tile_word(const unsigned short *tile, int k, int x) {
    return reinterpret_cast<const unsigned *>(tile + ind_tile_at<TK / 2, TX * 2, true>(k, x >> 2))[x & 3];
}
// The 16 x 16 fragment of A at (m, k) of a tile [m][k] if K_MAJOR, else [k][m]. WORDS: 16 x 8 elements of 32 bits.
template <bool WORDS, int TM, int TK, bool K_MAJOR>
static IND_INLINE void ind_fragment_a(unsigned (&r)[4], const unsigned short *tile, int m, int k) {
    const int lane = threadIdx.x & 31;
    if (K_MAJOR) {
        ind_ldmatrix_x4(r, tile + ind_tile_at<TM, TK>(m + (lane & 15), (k >> 3) + (lane >> 4)));
    } else if (WORDS) {
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) r[i] = ind_tile_word<TM, TK>(tile, k / 2 + i / 2 * 4 + (lane & 3), m + i % 2 * 8 + (lane >> 2));
    } else {
        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<TK, TM>(k + (lane >> 4 << 3) + (lane & 7), (m >> 3) + (lane >> 3 & 1)));
    }
}
// Two adjacent 16 x 8 fragments of B at (k, n) of a tile [n][k] if K_MAJOR, else [k][n]. WORDS: 8 x 8 elements of 32 bits.
template <bool WORDS, int TN, int TK, bool K_MAJOR>
static IND_INLINE void ind_fragment_b(unsigned (&r)[4], const unsigned short *tile, int n, int k) {
    const int lane = threadIdx.x & 31;
    if (K_MAJOR) {
        ind_ldmatrix_x4(r, tile + ind_tile_at<TN, TK>(n + (lane >> 4 << 3) + (lane & 7), (k >> 3) + (lane >> 3 & 1)));
    } else if (WORDS) {
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) r[i] = ind_tile_word<TN, TK>(tile, k / 2 + i % 2 * 4 + (lane & 3), n + i / 2 * 8 + (lane >> 2));
    } else {
        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<TK, TN>(k + (lane & 15), (n >> 3) + (lane >> 4)));
    }
}
// acc += A[m.., TK] * B[TK, n..] of one pair of tiles, for the warp's 16 MI x 8 NI block at (m, n). The next 16 values of
// k are loaded into registers while the current ones are multiplied. TK and k: pairs of bytes.
template <typename MMA, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR, typename T, int MI, int NI>
static IND_INLINE void ind_mma_tile(T (&acc)[MI][NI][4], const unsigned short *tile_a,
                                                    const unsigned short *tile_b, int m, int n) {
    unsigned a[2][MI][4], b[2][NI / 2][4];
    _Pragma("unroll")
    for (int k = 0; k <= TK; k += 16) {
        const int load = k / 16 & 1, use = load ^ 1;
        _Pragma("unroll")
        for (int i = 0; i < MI && k < TK; i++) ind_fragment_a<MMA::WORDS, TM, TK, A_K_MAJOR>(a[load][i], tile_a, m + i * 16, k);
        _Pragma("unroll")
        for (int j = 0; j < NI / 2 && k < TK; j++) ind_fragment_b<MMA::WORDS, TN, TK, B_K_MAJOR>(b[load][j], tile_b, n + j * 16, k);
        _Pragma("unroll")
        for (int i = 0; i < MI && k > 0; i++) MMA::round(a[use][i]);
        _Pragma("unroll")
        for (int j = 0; j < NI / 2 && k > 0; j++) MMA::round(b[use][j]);
        _Pragma("unroll")
        for (int ij = 0; ij < MI * NI && k > 0; ij++) {
            const int i = ij / NI, j = ij % NI;
            const unsigned pair[2] = {b[use][j / 2][j % 2 * 2], b[use][j / 2][j % 2 * 2 + 1]};
            MMA::multiply(acc[i][j], a[use][i], pair);
        }
    }
}
//@ WGMMA
#ifndef IND_EMULATION
// The matrix descriptor of a wgmma operand (PTX ISA): address of element (x, k) in the tile of ROWS rows of COLS elements,
// stride of panels, stride of groups of 8 rows, swizzle mode.
template <int ROWS, int COLS, bool K_MAJOR>
static IND_INLINE unsigned long long ind_wgmma_operand(const unsigned short *tile, int x, int k) {
    constexpr int W = COLS > 64 ? 64 : COLS;
    const int row = K_MAJOR ? x : k, col = K_MAJOR ? k : x;
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile + (col / W * ROWS + row) * W + col % W);
    return (at & 0x3ffffu) >> 4 | (unsigned long long)(ROWS * W * 2 >> 4) << 16 | (unsigned long long)(8 * W * 2 >> 4) << 32 |
           (W == 64 ? 1ull : 2ull) << 62;
}
// Waits until at most N wgmma groups are in flight. The accumulators may be read if N is 0.
template <int N, int NI> static IND_INLINE void ind_wgmma_wait(float (&c)[NI][4]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
    if (N == 0) {
        _Pragma("unroll")
        for (int i = 0; i < NI * 4; i++) asm volatile("" : "+f"(c[i / 4][i % 4]) :: "memory");
    }
}
template <int N, int NI> static IND_INLINE void ind_wgmma_wait(unsigned (&c)[NI][4]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
    if (N == 0) {
        _Pragma("unroll")
        for (int i = 0; i < NI * 4; i++) asm volatile("" : "+r"(c[i / 4][i % 4]) :: "memory");
    }
}
// Makes this thread's writes to shared memory visible to wgmma.
static IND_INLINE void ind_wgmma_publish(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif
//@ TRANSPOSE_PANELS
// Transposes panels of 32 x 32 elements of 32 bits in place, swizzled as in ind_tile_at. A warp has every WARPS-th panel. A
// lane moves 4 x 4 elements at a time. The lanes of a phase read, and write, 8 different groups of 4 banks. All of them have
// read before one writes.
template <int PANELS, int WARPS> static IND_INLINE void ind_transpose_panels(unsigned short *tile, int warp) {
    const int lane = threadIdx.x & 31, col = lane & 7;
    _Pragma("unroll 1")
    for (int panel = warp; panel < PANELS; panel += WARPS) {
        float *const at = reinterpret_cast<float *>(tile + panel * 2048);
        _Pragma("unroll")
        for (int half = 0; half < 8; half += 4) {
            const int row = col ^ (lane >> 3) ^ half;
            ind_vec<float, 4> from[4];
            _Pragma("unroll")
            for (int i = 0; i < 4; i++) from[i] = ind_load<4>(at + ind_tile_at<32, 64>(row * 4 + i, col) / 2);
            __syncwarp();
            _Pragma("unroll")
            for (int i = 0; i < 4; i++)
                ind_store(at + ind_tile_at<32, 64>(col * 4 + i, row) / 2,
                          ind_vec<float, 4>{{from[0].at[i], from[1].at[i], from[2].at[i], from[3].at[i]}});
        }
    }
}
//@ BULK_COPY
// A CUtensorMap, encoded by the driver before the launch.
struct alignas(64) ind_tensor_map {
    unsigned long long word[16];
};
#ifndef IND_EMULATION
static IND_INLINE void ind_barrier_init(unsigned long long *barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(count) : "memory");
}
// Makes initialised mbarriers visible to bulk copies; a __syncthreads follows.
static IND_INLINE void ind_barrier_publish(void) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static IND_INLINE void ind_barrier_arrive(unsigned long long *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}
// Arrives, and lets the phase wait for `bytes` of bulk copies.
static IND_INLINE void ind_barrier_expect(unsigned long long *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(bytes) : "memory");
}
// Waits for the end of the phase of this parity.
static IND_INLINE void ind_barrier_wait(unsigned long long *barrier, int parity) {
    unsigned done;
    do
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}" : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(parity) : "memory");
    while (!done);
}
static IND_INLINE void ind_map_prefetch(const ind_tensor_map &map) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");
}
// All warps of a warpgroup give registers to the block, or take some.
template <int N> static IND_INLINE void ind_fewer_registers(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}
template <int N> static IND_INLINE void ind_more_registers(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
}
// Starts the copy of a box of the tensor, from element (x, y, ..), to shared memory. Its bytes count on the mbarrier.
template <int RANK>
static IND_INLINE void ind_bulk_copy(void *tile, const ind_tensor_map &map, unsigned long long *barrier, int x, int y,
                                     int z = 0, int u = 0, int v = 0) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), on = (unsigned)__cvta_generic_to_shared(barrier);
    if (RANK == 2)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                     :: "r"(to), "l"(&map), "r"(on), "r"(x), "r"(y) : "memory");
    if (RANK == 3)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                     :: "r"(to), "l"(&map), "r"(on), "r"(x), "r"(y), "r"(z) : "memory");
    if (RANK == 4)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                     :: "r"(to), "l"(&map), "r"(on), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
    if (RANK == 5)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                     :: "r"(to), "l"(&map), "r"(on), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
#endif
//@ MULTICAST
#ifndef IND_EMULATION
// Waits for all threads of the cluster. It orders no accesses to memory but initialised mbarriers (ind_barrier_publish).
static IND_INLINE void ind_cluster_sync(void) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
// Arrives on the mbarrier of a block of the cluster whose address in this block is `barrier`. It orders reads of wgmma before
// bulk copies, which are both of the async proxy: with .release.cluster each arrival would be a fence of the GPU
// (MEMBAR.ALL.GPU), and the wait with .acquire.cluster would invalidate the L1.
static IND_INLINE void ind_barrier_arrive_at(unsigned long long *barrier, unsigned block) {
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(at) : "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(block));
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(at) : "memory");
}
// Starts the copy of a box to the same place in the shared memory of the blocks whose bits are set in `blocks`. Its bytes
// count on the mbarrier of each of these blocks.
template <int RANK>
static IND_INLINE void ind_bulk_multicast(void *tile, const ind_tensor_map &map, unsigned long long *barrier,
                                          unsigned short blocks, int x, int y, int z = 0, int u = 0, int v = 0) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), on = (unsigned)__cvta_generic_to_shared(barrier);
    if (RANK == 2)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5}], [%2], %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(x), "r"(y) : "memory");
    if (RANK == 3)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6}], [%2], %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(x), "r"(y), "r"(z) : "memory");
    if (RANK == 4)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
    if (RANK == 5)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
#endif
//@ TCGEN05
#ifndef IND_EMULATION
// A warp allocates columns of tensor memory and writes their address to shared memory. The block allocates no others.
template <int COLUMNS> static IND_INLINE void ind_tcgen05_alloc(unsigned *address) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(address)), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
template <int COLUMNS> static IND_INLINE void ind_tcgen05_free(unsigned address) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(address), "n"(COLUMNS) : "memory");
}
// Before a thread signals others, and after it has waited for them, if either side uses tensor memory.
static IND_INLINE void ind_tcgen05_before_sync(void) {
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
static IND_INLINE void ind_tcgen05_after_sync(void) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
// Arrives at the mbarrier when the products that this thread has started are complete.
static IND_INLINE void ind_tcgen05_commit(unsigned long long *barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}
// sums = a * b, or sums += a * b if `accumulate`: 16-bit or 8-bit floats. One thread starts it.
template <bool BYTES>
static IND_INLINE void ind_tcgen05_mma(unsigned sums, unsigned long long a, unsigned long long b, unsigned instruction,
                                       bool accumulate) {
    if (BYTES)
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "setp.ne.b32 p, %4, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;\n"
                     "}" :: "r"(sums), "l"(a), "l"(b), "r"(instruction), "r"((int)accumulate) : "memory");
    else
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "setp.ne.b32 p, %4, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n"
                     "}" :: "r"(sums), "l"(a), "l"(b), "r"(instruction), "r"((int)accumulate) : "memory");
}
// Starts to load N columns of the lanes of this warp: lane i of it gets those of lane i of the address.
template <int N> static IND_INLINE void ind_tcgen05_load(float (&x)[N], unsigned address) {
    _Pragma("unroll")
    for (int at = 0; at < N; at += 16)
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
                     "%15}, [%16];"
                 : "=f"(x[at + 0]), "=f"(x[at + 1]), "=f"(x[at + 2]), "=f"(x[at + 3]),
                   "=f"(x[at + 4]), "=f"(x[at + 5]), "=f"(x[at + 6]), "=f"(x[at + 7]),
                   "=f"(x[at + 8]), "=f"(x[at + 9]), "=f"(x[at + 10]), "=f"(x[at + 11]),
                   "=f"(x[at + 12]), "=f"(x[at + 13]), "=f"(x[at + 14]), "=f"(x[at + 15])
                 : "r"(address + at) : "memory");
}
// Waits for all loads of the warp. Those to x are among them.
template <int P, int N> static IND_INLINE void ind_tcgen05_loaded(float (&x)[P][N]) {
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    _Pragma("unroll")
    for (int i = 0; i < P * N; i++) asm volatile("" : "+f"(x[i / N][i % N]) :: "memory");
}
#endif
// The shared memory descriptor (PTX ISA, tcgen05) of the operand from element k on, in a tile of TK
// elements of k, in rows of 128 bytes with the 128-byte swizzle: address; from 64 columns to the next ones, if rows lie
// along x; from 8 rows to the next ones; version 1; swizzle mode 2. Addresses and strides in units of 16 bytes.
template <int TK, bool K_MAJOR>
static IND_INLINE unsigned long long ind_tcgen05_operand(const unsigned short *tile, int k) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile + (K_MAJOR ? k : k * 64));
    return (at & 0x3ffffu) >> 4 | (K_MAJOR ? 1ull : TK * 128ull >> 4) << 16 | (1024ull >> 4) << 32 | 1ull << 46 | 2ull << 61;
}
// Starts sums (+)= A * B for a pair of tiles. TK: pairs of bytes. A, B: types in the instruction descriptor (PTX ISA): f16 or
// e4m3 0, bf16 or e5m2 1. Its other fields: f32 sums, which operands have rows along x, sizes of the product.
template <bool BYTES, int A, int B, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR>
static IND_INLINE void ind_tcgen05_tile(unsigned sums, const unsigned short *tile_a, const unsigned short *tile_b, bool accumulate) {
    constexpr unsigned INSTRUCTION = 1u << 4 | (unsigned)A << 7 | (unsigned)B << 10 | (A_K_MAJOR ? 0u : 1u << 15) |
                                     (B_K_MAJOR ? 0u : 1u << 16) | (unsigned)TN / 8 << 17 | (unsigned)TM / 16 << 24;
    static_assert(TM == 128 && TN % 16 == 0 && TN <= 256 && TK == 64, "tiles of other sizes");
    _Pragma("unroll")
    for (int k = 0; k < TK; k += 16)
        ind_tcgen05_mma<BYTES>(sums, ind_tcgen05_operand<TK, A_K_MAJOR>(tile_a, k),
                               ind_tcgen05_operand<TK, B_K_MAJOR>(tile_b, k), INSTRUCTION, accumulate || k > 0);
}
//@ SUM_TILE
// Offset of a sum in the shared tile between main loop and epilogue. Rows are padded by 8. In every second segment of 32
// columns, groups of 4 are swapped in pairs. Writes of mma fragments and reads of 8 adjacent sums per thread then have no
// bank conflicts (T of 4 bytes).
template <int TN> static IND_INLINE int ind_sum_at(int row, int col) {
    return row * (TN + 8) + (col ^ (col >> 5 & 1) << 2);
}
// V adjacent sums.
template <int TN, int V, typename T> static IND_INLINE void ind_sum_read(T (&x)[V], const T *sum, int row, int col) {
    constexpr int G = V < (int)(16 / sizeof(T)) ? V : (int)(16 / sizeof(T));
    _Pragma("unroll")
    for (int g = 0; g < V; g += G) {
        const ind_vec<T, G> v = ind_load<G>(sum + ind_sum_at<TN>(row, col + g));
        _Pragma("unroll")
        for (int j = 0; j < G; j++) x[g + j] = v.at[j];
    }
}
//@ ADD_PARTS
// total = the sum of `splits` parts that are `apart` elements apart, in their order. N vectors that are STEP elements apart.
// AHEAD parts are in flight.
template <int AHEAD, int N, int STEP, typename T, int G>
static IND_INLINE void ind_add_parts(ind_vec<T, G> (&total)[N], const T *from, long long apart, unsigned splits) {
    _Pragma("unroll")
    for (int i = 0; i < N; i++) total[i] = {};
    _Pragma("unroll 1")
    for (unsigned first = 0; first < splits; first += AHEAD) {
        ind_vec<T, G> more[AHEAD][N];
        _Pragma("unroll")
        for (int a = 0; a < AHEAD; a++)
            _Pragma("unroll")
            for (int i = 0; i < N; i++)
                if (first + a < splits) more[a][i] = ind_load<G>(from + (first + a) * apart + i * STEP);
        _Pragma("unroll")
        for (int a = 0; a < AHEAD; a++)
            _Pragma("unroll")
            for (int ij = 0; ij < N * G; ij++)
                if (first + a < splits) total[ij / G].at[ij % G] += more[a][ij / G].at[ij % G];
    }
}
//@ ADD_SUMS
// The blocks that share a tile write their sums to `partials`. Returns true in the last one, whose `sum` is then the sum of
// all, added in the order of `split`. The first THREADS of the block's ALL threads add.
template <int TM, int TN, int THREADS, int ALL = THREADS, typename T>
static IND_INLINE bool ind_add_sums(T *sum, T *partials, unsigned *counter, unsigned tile, unsigned split, unsigned splits) {
    constexpr int G = 16 / sizeof(T), ROW = TN / G, N = TM * ROW / THREADS;
    if (splits == 1) return true;
    T *const all = partials + (long long)tile * splits * (TM * TN) + threadIdx.x * G;
    const bool adds = ALL == THREADS || threadIdx.x < THREADS;
    if (adds) {
        _Pragma("unroll")
        for (int i = 0; i < N; i++) {
            const int at = threadIdx.x + i * THREADS;
            ind_store(all + (long long)split * (TM * TN) + i * THREADS * G, ind_load<G>(sum + ind_sum_at<TN>(at / ROW, at % ROW * G)));
        }
    }
    if (!ind_last_block(counter, splits)) return false;
    if (adds) {
        ind_vec<T, G> total[N];
        ind_add_parts<(N < 16 ? 16 / N : 1), N, THREADS * G>(total, all, TM * TN, splits);
        _Pragma("unroll")
        for (int i = 0; i < N; i++) {
            const int at = threadIdx.x + i * THREADS;
            ind_store(sum + ind_sum_at<TN>(at / ROW, at % ROW * G), total[i]);
        }
    }
    __syncthreads();
    return true;
}
//@ ADD_FRAGMENTS
// The same for the accumulators of a warp; `part` numbers the warps of all tiles.
template <int NI, typename T>
static IND_INLINE bool ind_add_fragments(T (&acc)[NI][4], T *partials, unsigned *counters, unsigned part, unsigned split,
                                         unsigned splits) {
    if (splits == 1) return true;
    T *const all = partials + (long long)part * splits * (NI * 128) + (threadIdx.x & 31) * 4;
    ind_vec<T, 4> total[NI];
    _Pragma("unroll")
    for (int i = 0; i < NI; i++)
        ind_store(all + (long long)split * (NI * 128) + i * 128, ind_vec<T, 4>{{acc[i][0], acc[i][1], acc[i][2], acc[i][3]}});
    if (!ind_last_warp(counters + part, splits)) return false;
    ind_add_parts<(NI <= 8 ? 32 / NI : 1), NI, 128>(total, all, NI * 128, splits);
    _Pragma("unroll")
    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] = total[i / 4].at[i % 4];
    return true;
}
//@ ADD_ROWS
#ifndef IND_EMULATION
static IND_INLINE void ind_cluster_arrive(void) {
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
#endif
// The 16 bytes of a block of the cluster whose address in this block is `p`.
template <int G, typename T> static IND_INLINE ind_vec<T, G> ind_cluster_load(const T *p, int block) {
#ifdef IND_EMULATION
    return ind_load<G>(ind_cluster_at(p, block));
#else
    union {
        unsigned word[4];
        ind_vec<T, G> vector;
    } u;
    unsigned from;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"(ind_shared_address(p)), "r"(block));
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(u.word[0]), "=r"(u.word[1]), "=r"(u.word[2]), "=r"(u.word[3]) : "r"(from) : "memory");
    return u.vector;
#endif
}
// Adds the sums of the C blocks of a cluster in the order of the blocks: in each block TM / C rows, of which `rows` - first
// row exist. All threads call this after they have written the tile of sums; the first THREADS of them add. ind_cluster_begun
// must follow.
template <int C, int TM, int TN, int THREADS, int ALL = THREADS, typename T>
static IND_INLINE void ind_add_rows(T *sum, unsigned rank, long long rows) {
    constexpr int G = 16 / sizeof(T), ROW = TN / G, N = TM / C * ROW / THREADS;
    ind_cluster_arrive();
    ind_cluster_begun();
    _Pragma("unroll")
    for (int i = 0; i < N; i++) {
        const int at = threadIdx.x + i * THREADS, row = (int)rank * (TM / C) + at / ROW;
        if (ALL > THREADS && threadIdx.x >= THREADS) break;
        T *const own = sum + ind_sum_at<TN>(row, at % ROW * G);
        ind_vec<T, G> part[C], total = {};
        _Pragma("unroll")
        for (int block = 0; block < C && row < rows; block++) part[block] = ind_cluster_load<G>(own, block);
        _Pragma("unroll")
        for (int j = 0; j < C * G && row < rows; j++) total.at[j % G] += part[j / G].at[j % G];
        ind_store(own, total);
    }
    ind_cluster_arrive();
    __syncthreads();
}
//@ ADD_SLICES
// Sends N fragments of the accumulators, from block N on, to a block of the cluster. `to` and `barrier` are this block's addresses.
template <int N, int NI>
static IND_INLINE void ind_send_slice(float *to, unsigned long long *barrier, int block, const float (&acc)[NI][4]) {
#ifdef IND_EMULATION
    for (int i = 0; i < N; i++)
        ind_cluster_send(reinterpret_cast<float(*)[4]>(to + i * 128), barrier, block, acc[block * N + i]);
#else
    unsigned at, signal;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(ind_shared_address(to)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(ind_shared_address(barrier)), "r"(block));
    _Pragma("unroll")
    for (int i = 0; i < N; i++)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                     :: "r"(at + i * 512), "f"(acc[block * N + i][0]), "f"(acc[block * N + i][1]),
                        "f"(acc[block * N + i][2]), "f"(acc[block * N + i][3]), "r"(signal) : "memory");
#endif
}
// Adds the accumulators of the same warp of the C blocks of a cluster, in the order of the blocks. Each block gets a slice:
// fragments rank N .. of NI. `sent`: NI * 128 floats of shared memory of the warp, which no other tile uses.
template <int C, int N, int NI>
static IND_INLINE void ind_add_slices(float (&slice)[N][4], const float (&acc)[NI][4], float *sent, unsigned long long *barrier,
                                      unsigned rank) {
    const int lane = threadIdx.x & 31;
    if (lane == 0) ind_cluster_expect(barrier, C * N * 512);
    _Pragma("unroll")
    for (int block = 0; block < C; block++) ind_send_slice<N>(sent + (rank * N * 32 + lane) * 4, barrier, block, acc);
    ind_cluster_wait(barrier, 0);
    ind_vec<float, 4> total[N];
    ind_add_parts<(N < 8 ? 8 / N : 1), N, 128>(total, sent + lane * 4, N * 128, C);
    _Pragma("unroll")
    for (int i = 0; i < N * 4; i++) slice[i / 4][i % 4] = total[i / 4].at[i % 4];
}
// Puts a slice back to its place among the accumulators. The others are not used any more.
template <int N, int NI> static IND_INLINE void ind_put_slice(float (&acc)[NI][4], const float (&slice)[N][4], unsigned rank) {
    _Pragma("unroll")
    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] = i / 4 / N == (int)rank ? slice[i / 4 % N][i % 4] : 0;
}
//@ MMA_SUMS
// Writes the warp's accumulators into the tile of sums at (m, n). FLOAT4: a lane has 4 adjacent columns of each 16.
template <int TN, bool FLOAT4 = false, typename T, int MI, int NI>
static IND_INLINE void ind_mma_sums(T *sum, const T (&acc)[MI][NI][4], int m, int n) {
    const int lane = threadIdx.x & 31;
    _Pragma("unroll")
    for (int ij = 0; ij < MI * NI; ij++) {
        const int i = ij / NI, j = ij % NI;
        const int column = FLOAT4 ? j / 2 * 16 + (lane & 3) * 4 + j % 2 * 2 : j * 8 + (lane & 3) * 2;
        T *const at = sum + ind_sum_at<TN>(m + i * 16 + (lane >> 2), n + column);
        ind_store(at, ind_vec<T, 2>{{acc[i][j][0], acc[i][j][1]}});
        ind_store(at + 8 * (TN + 8), ind_vec<T, 2>{{acc[i][j][2], acc[i][j][3]}});
    }
}
//@ STRIP_SUMS
// Copies the accumulators of strip S of 8 N columns, all 16 rows of the warp. None, if there is no such strip.
template <int S, int N, typename T, int NI> static IND_INLINE void ind_strip_copy(T (&part)[N][4], const T (&acc)[NI][4]) {
    _Pragma("unroll")
    for (int i = 0; i < (S < NI / N ? N * 4 : 0); i++) part[i / 4][i % 4] = acc[S * N + i / 4][i % 4];
}
// The same for a number that is known at run time: branches to the copies of that strip. A loop over all strips would copy
// each under a predicate.
template <int FIRST = 0, int N, typename T, int NI>
static IND_INLINE void ind_strip_part(T (&part)[N][4], const T (&acc)[NI][4], int strip) {
    switch (strip - FIRST) {
    case 0: ind_strip_copy<FIRST>(part, acc); break;
    case 1: ind_strip_copy<FIRST + 1>(part, acc); break;
    case 2: ind_strip_copy<FIRST + 2>(part, acc); break;
    case 3: ind_strip_copy<FIRST + 3>(part, acc); break;
    case 4: ind_strip_copy<FIRST + 4>(part, acc); break;
    case 5: ind_strip_copy<FIRST + 5>(part, acc); break;
    case 6: ind_strip_copy<FIRST + 6>(part, acc); break;
    case 7: ind_strip_copy<FIRST + 7>(part, acc); break;
    default: if constexpr (FIRST + 8 < NI / N) ind_strip_part<FIRST + 8>(part, acc, strip);
    }
}
// Writes one strip of the accumulators of a wgmma tile into the warp's 8 x COLS sums: rows 8 (strip % 2) .. + 7 of the
// warp's 16 rows, columns COLS (strip / 2) .. of the tile.
template <int COLS, typename T, int NI> static IND_INLINE void ind_strip_sums(T *sum, const T (&acc)[NI][4], int strip) {
    const int lane = threadIdx.x & 31;
    T part[COLS / 8][4];
    ind_strip_part(part, acc, strip / 2);
    _Pragma("unroll")
    for (int j = 0; j < COLS / 8; j++) {
        const ind_vec<T, 2> pair = strip % 2 ? ind_vec<T, 2>{{part[j][2], part[j][3]}} : ind_vec<T, 2>{{part[j][0], part[j][1]}};
        ind_store(sum + ind_sum_at<COLS>(lane >> 2, j * 8 + (lane & 3) * 2), pair);
    }
}
//@ ROW_SUMS
// Writes a row of sums per lane into the warp's 32 x COLS sums.
template <int COLS> static IND_INLINE void ind_row_sums(float *sum, const float (&row)[COLS]) {
    _Pragma("unroll")
    for (int j = 0; j < COLS; j += 4)
        ind_store(sum + ind_sum_at<COLS>(threadIdx.x & 31, j), ind_vec<float, 4>{{row[j], row[j + 1], row[j + 2], row[j + 3]}});
}
//@ FMA_TILE
// acc += the products of one element of k of tiles a[TK][TM + 4] and b[TK][TN + 4]. A thread's RM x RN block consists of
// 16-byte groups that are TM / RM (TN / RN) groups apart: adjacent threads read adjacent groups.
template <int TM, int TN, typename T, int RM, int RN>
static IND_INLINE void ind_fma_outer(T (&acc)[RM][RN], const T *tile_a, const T *tile_b, int k) {
    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;
    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;
    ind_vec<T, G> a[RM / G], b[RN / G];
    _Pragma("unroll")
    for (int i = 0; i < RM / G; i++) a[i] = ind_load<G>(tile_a + k * (TM + 4) + y + i * DOWN * G);
    _Pragma("unroll")
    for (int j = 0; j < RN / G; j++) b[j] = ind_load<G>(tile_b + k * (TN + 4) + x + j * ACROSS * G);
    _Pragma("unroll")
    for (int ij = 0; ij < RM * RN; ij++) {
        const int i = ij / RN, j = ij % RN;
        acc[i][j] += a[i / G].at[i % G] * b[j / G].at[j % G];
    }
}
// acc += A * B, in the order of k.
template <int TM, int TN, int TK, typename T, int RM, int RN>
static IND_INLINE void ind_fma_tile(T (&acc)[RM][RN], const T *tile_a, const T *tile_b) {
    _Pragma("unroll 4")
    for (int k = 0; k < TK; k++) ind_fma_outer<TM, TN>(acc, tile_a, tile_b, k);
}
// acc += A * B. Sums of CHAIN products start at 0 and are added to the accumulators. So rounding errors grow with CHAIN + k /
// CHAIN additions, not with k.
template <int TM, int TN, int TK, int CHAIN, typename T, int RM, int RN>
static IND_INLINE void ind_fma_chains(T (&acc)[RM][RN], const T *tile_a, const T *tile_b) {
    _Pragma("unroll 1")
    for (int first = 0; first < TK; first += CHAIN) {
        T part[RM][RN] = {};
        _Pragma("unroll 4")
        for (int k = 0; k < CHAIN; k++) ind_fma_outer<TM, TN>(part, tile_a, tile_b, first + k);
        _Pragma("unroll")
        for (int ij = 0; ij < RM * RN; ij++) acc[ij / RN][ij % RN] += part[ij / RN][ij % RN];
    }
}
// Writes the thread's accumulators into the tile of sums.
template <int TM, int TN, typename T, int RM, int RN>
static IND_INLINE void ind_fma_sums(T *sum, const T (&acc)[RM][RN]) {
    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;
    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;
    _Pragma("unroll")
    for (int ij = 0; ij < RM * RN; ij++) {
        const int i = ij / RN, j = ij % RN;
        sum[ind_sum_at<TN>(y + i / G * DOWN * G + i % G, x + j / G * ACROSS * G + j % G)] = acc[i][j];
    }
}
