// Copies of packed weights to the rings of warps in shared memory: by tensor maps, or by cp.async.
//@ PACKED_MAPS
// Bulk copies of 16 rows by a tensor map of 16-bit words. One lane starts them, mbarriers count their bytes.
struct ind_packed_maps {
    static constexpr int ROW = 16;
    unsigned long long *full;
    int first_n;
    template <int STAGES> IND_INLINE void start(const ind_tensor_map &map, unsigned char *barriers, int first, int) {
        full = reinterpret_cast<unsigned long long *>(barriers) + threadIdx.x / 32 * STAGES;
        first_n = first;
        if ((threadIdx.x & 31) == 0) {
            ind_map_prefetch(map);
            for (int i = 0; i < STAGES; i++) ind_barrier_init(full + i, 1);
            ind_barrier_publish();
        }
        __syncwarp();
    }
    template <typename S> IND_INLINE void copy(const ind_tensor_map &map, unsigned char *to, int stage, int step, bool exists) {
        if (!exists || (threadIdx.x & 31)) return;
        ind_barrier_expect(full + stage, S::STAGE);
        ind_bulk_copy<2>(to, map, full + stage, (step * S::BYTES & -16) / 2, first_n);
    }
    template <int STAGES> IND_INLINE void wait(int stage, int phase) {
        ind_barrier_wait(full + stage, phase);
    }
    template <typename S> IND_INLINE int before(int, int step) const {
        return S::ALIGNMENT == 16 ? 0 : (step * S::BYTES) & 15;
    }
};
//@ PACKED_COPIES
// cp.async of 16 bytes, of rows of LENGTH bytes. Four lanes copy rows lane / 4 and lane / 4 + 8, which they also multiply.
// Bytes from the end of a row on are 0. Rows from size_n on are copies of the last row, whose sums nothing reads.
template <int ALIGNMENT, int LENGTH> struct ind_packed_copies {
    static constexpr int ROW = ALIGNMENT;
    static constexpr bool PARTIAL = ROW < 16 || LENGTH % 16;
    static constexpr int UNIT = (ROW | LENGTH | 8) & -(ROW | LENGTH | 8); // divides the bytes of partial chunks
    const unsigned char *row; // address of the lane's first row, rounded down to 16 bytes
    int apart, offset[2];     // bytes from `row` to the rounded address of its second row; bytes that rounding removed
    bool cut;                 // the last chunk of one of its rows may reach past the end of the tensor
    template <int STAGES, typename At> IND_INLINE void start(const At &at, unsigned char *, int first, int size_n) {
        const int n = first + (threadIdx.x & 31) / 4;
        const unsigned char *const r0 = at(n < size_n ? n : size_n - 1), *const r1 = at(n + 8 < size_n ? n + 8 : size_n - 1);
        offset[0] = ROW == 16 ? 0 : (int)(reinterpret_cast<unsigned long long>(r0) & 15);
        offset[1] = ROW == 16 ? 0 : (int)(reinterpret_cast<unsigned long long>(r1) & 15);
        row = r0 - offset[0];
        apart = (int)(r1 - offset[1] - row);
        const unsigned char *const last = at(size_n - 1);
        cut = PARTIAL && (last - r0 < 16 || last - r1 < 16);
    }
    // The chunk of iteration i and the bytes of it that are before the end of its row.
    template <typename S> IND_INLINE int left(int r, int chunk, int step, int &from) const {
        from = (((r ? offset[1] : offset[0]) + step * S::BYTES) & -16) + chunk * 16;
        const int bytes = (r ? offset[1] : offset[0]) + LENGTH - from;
        return bytes < 0 ? 0 : bytes < 16 ? bytes : 16;
    }
    // All chunks of a step, those that the end of a row cuts by loads.
    template <typename S> IND_INLINE void copy_end(unsigned char *to, int step) {
        const int lane = threadIdx.x & 31;
        _Pragma("unroll 1")
        for (int i = 0; i < (S::CHUNKS + 3) / 4 * 2; i++) {
            const int r = i % 2, chunk = i / 2 * 4 + lane % 4;
            if (chunk >= S::CHUNKS) continue;
            int from;
            const int bytes = left<S>(r, chunk, step, from);
            unsigned char *const slot = to + (r * 8 + lane / 4) * S::SLOT + chunk * 16;
            if (bytes % 16)
                ind_copy_part<16, UNIT>(slot, row + r * apart + from, bytes);
            else
                ind_cp_async16(slot, row + r * apart + from, bytes);
        }
    }
    template <typename S, typename At> IND_INLINE void copy(const At &, unsigned char *to, int, int step, bool exists) {
        constexpr bool WHOLE = S::ALIGNMENT == 16 && LENGTH % S::BYTES == 0;
        const int lane = threadIdx.x & 31;
        if (PARTIAL && cut && exists && step * S::BYTES + S::CHUNKS * 16 > LENGTH) {
            copy_end<S>(to, step);
            exists = false;
        }
        _Pragma("unroll")
        for (int i = 0; i < (S::CHUNKS + 3) / 4 * 2 && exists; i++) {
            const int r = i % 2, chunk = i / 2 * 4 + lane % 4;
            int from;
            const int bytes = left<S>(r, chunk, step, from);
            if (i / 2 * 4 + 4 <= S::CHUNKS || chunk < S::CHUNKS)
                ind_cp_async16_partial(to + (r * 8 + lane / 4) * S::SLOT + chunk * 16, row + r * apart + from, WHOLE ? 16 : bytes);
        }
        ind_cp_async_commit();
    }
    template <int STAGES> IND_INLINE void wait(int, int) {
        ind_cp_async_wait<STAGES - 1>();
        __syncwarp();
    }
    template <typename S> IND_INLINE int before(int r, int step) const {
        return S::ALIGNMENT == 16 ? 0 : (offset[r] + step * S::BYTES) & 15;
    }
};
