/*
 * What a kernel compiled for the host and the fake driver that runs it agree on.
 *
 * The kernel library knows nothing of fibres: it reads its indices through one pointer and asks the driver, through the
 * table below, for everything that involves another thread. The table is handed over when the module is loaded, so the
 * kernel library needs no symbol of the driver and works when the driver was opened with RTLD_LOCAL. Change
 * IND_EMULATION_ABI when anything here changes.
 */
#ifndef IND_EMULATION_ABI_H
#define IND_EMULATION_ABI_H

#define IND_EMULATION_ABI 12

namespace ind_emulation {

struct index3 {
    unsigned x, y, z;
};

/* Indices of the thread that runs now. The driver points the kernel library's `now` at another one at each switch. */
struct thread_state {
    index3 thread_idx, block_idx, block_dim, grid_dim;
    unsigned char *dynamic_shared;
};

enum shuffle_kind { SHUFFLE_IDX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };
enum vote_kind { VOTE_ALL, VOTE_ANY, VOTE_BALLOT };
enum match_kind { MATCH_ANY, MATCH_ALL };
enum reduce_kind { REDUCE_ADD, REDUCE_MIN, REDUCE_MAX, REDUCE_UMIN, REDUCE_UMAX, REDUCE_AND, REDUCE_OR, REDUCE_XOR };
enum element_kind { ELEMENT_F16, ELEMENT_BF16, ELEMENT_E4M3, ELEMENT_E5M2, ELEMENT_S8, ELEMENT_TF32 };
enum barrier_kind { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };

/* What cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col write into a CUtensorMap. Sizes and boxes in elements, strides
 * in bytes; dimension 0 is contiguous. Of windows, box[0] is channels, box[1] windows, other boxes are 1. */
struct tensor_map {
    char magic[8];
    unsigned long long address, size[5], stride[5]; /* stride[0]: of an element */
    unsigned short rank, box[5], swizzle;           /* swizzle: bytes, 0, 32, 64 or 128 */
    unsigned char tf32;                             /* copies round f32 to tf32 */
    unsigned char windows, step[3];                 /* windows: dimensions of an image, 0: boxes */
    signed short lower[3], upper[3];                /* corners of the windows, in dimensions 1, .. */
};
static_assert(sizeof(tensor_map) <= 128, "a CUtensorMap has 128 bytes");

#define IND_EMULATION_MAP_MAGIC "INDMAP2"

/* Where a copy begins: an element of the tensor, and of windows their taps in dimensions 1, .. */
struct place {
    int at[5];
    unsigned short tap[3];
};

/* The address of element 0 of a row of the box, or of a window; false if it is outside of the tensor. */
inline bool row_address(const tensor_map &m, const place &p, unsigned long long row, unsigned long long *address) {
    bool inside = true;
    *address = m.address;
    for (int d = 1; d < m.rank; d++) {
        long long x = p.at[d];
        if (d <= m.windows) { /* the windows of a line, then those of the next one */
            const int step = m.step[d - 1], lower = m.lower[d - 1];
            const long long span = (long long)m.size[d] + m.upper[d - 1] - lower, all = (span + step - 1) / step;
            const long long window = (x - lower) / step + (long long)row;
            x = lower + window % all * step + p.tap[d - 1];
            row = (unsigned long long)(window / all);
        } else if (m.windows) {
            x += (long long)row;
        } else {
            x += (long long)(row % m.box[d]);
            row /= m.box[d];
        }
        inside = inside && x >= 0 && x < (long long)m.size[d];
        *address += (unsigned long long)x * m.stride[d];
    }
    return inside;
}

/* `line` is the source line of the caller; it identifies the barrier and appears in error reports. */
struct runtime {
    int (*barrier)(int kind, int predicate, int line);
    void (*barrier_of)(int threads, int line); /* of the first threads of the block */
    void (*yield_block)(int line);             /* lets the other blocks run that run beside this one */
    unsigned long long (*nanoseconds)(void);   /* a clock that advances with each call */
    void (*syncwarp)(unsigned mask, int line);
    unsigned long long (*shuffle)(int kind, unsigned mask, unsigned long long value, int argument, int width, int line);
    unsigned (*vote)(int kind, unsigned mask, int predicate, int line);
    unsigned (*match)(int kind, unsigned mask, unsigned long long value, int line);
    unsigned (*reduce)(int kind, unsigned mask, unsigned value, int line);
    unsigned (*lane)(void);
    void (*ldmatrix)(unsigned *result, const unsigned *row, int transposed,
                     int line); /* 4 matrices; row: this lane's 16 bytes */
    /* m16n8k16 of 16 bits, m16n8k32 of 8, m16n8k8 of TF32; row.col. c: 4 floats, of S8 4 ints; kinds: element_kind of a
     * and of b. */
    void (*mma)(void *c, const unsigned *a, const unsigned *b, int kind_a, int kind_b, int line);
    void (*cp_async)(void *shared, const void *global, int bytes); /* deferred until waited for */
    void (*cp_async_commit)(void);
    void (*cp_async_wait)(int groups_left);
    int (*is_shared)(const void *address, unsigned bytes);
    void (*pause)(void);                          /* lets other threads of the block run: spin loops */
    void (*fault)(const char *message, int line); /* ends the launch with an error; does not return */
    void (*dependency_wait)(void);                /* of a launch that may begin before the one before it is done */
    void (*dependency_trigger)(void);             /* the next launch may begin */
    /* Clusters: a barrier in shared memory completes a phase once one thread has come to it and all bytes that this
     * thread expects have, which other blocks send. */
    void (*cluster_barrier)(void *barrier); /* makes one */
    void (*cluster_arrive)(void);
    void (*cluster_arrived)(int line); /* waits until every thread of the cluster has */
    void (*cluster_send)(void *at, void *barrier, int block, const void *data, int bytes, int line);
    void (*cluster_expect)(void *barrier, int bytes, int line);
    void (*cluster_wait)(void *barrier, int phase, int line);
    /* mbarriers in the shared memory of a block, and copies of boxes of tensors that complete their transactions. */
    void (*mbarrier_init)(void *barrier, int count, int line);
    void (*mbarrier_arrive)(void *barrier, int bytes, int line); /* expects `bytes` more, and arrives */
    void (*mbarrier_wait)(void *barrier, int parity, int line);
    /* arrives on the mbarrier of a block of the cluster whose address in this block is `barrier` */
    void (*mbarrier_arrive_at)(void *barrier, int block, int line);
    /* blocks: bits of those of the cluster that get the box; 0: this one */
    void (*bulk_tensor)(void *shared, const tensor_map *map, void *barrier, unsigned blocks, const place *at, int line);
    /* wgmma reads a tile asynchronously, until at most so many later wgmma groups are in flight */
    void (*wgmma_read)(const void *tile, unsigned bytes, int line);
    void (*wgmma_commit)(void);
    void (*wgmma_wait)(int groups_left, int line);
    const void *(*cluster_at)(const void *own, int block, int line); /* the same place in another block's memory */
    void (*access)(const void *address, unsigned bytes, int write);  /* before each, with IND_EMULATION_TRACE */
    __SIZE_TYPE__ (*shared_address)(const void *address, int line);  /* as instructions have it */
    /* tcgen05; alloc, relinquish, free, load and wait are of whole warps. */
    void (*tensor_alloc)(unsigned *address, int columns, int line);
    void (*tensor_relinquish)(int line);
    void (*tensor_free)(unsigned address, int columns, int line);
    void (*tensor_fence)(int after, int line); /* after_thread_sync, else before_thread_sync */
    void (*tensor_mma)(unsigned sums, unsigned long long a, unsigned long long b, unsigned instruction, int accumulate,
                       int bytes, int line);
    void (*tensor_commit)(void *barrier, int line);
    void (*tensor_load)(float *to, unsigned address, int columns, int line);
    void (*tensor_wait)(int line);
};

struct parameter {
    unsigned size, alignment;
};

/* One per `extern "C" __global__` function, exported as NAME__kernel. */
struct kernel {
    void (*call)(void **arguments);
    const parameter *parameters;
    unsigned parameter_count;
    unsigned max_threads; /* __launch_bounds__, or 1024 */
    unsigned cluster;     /* the first of __cluster_dims__, or 1 */
    unsigned beside;      /* its blocks wait for one another: so many run side by side; 1: one after another */
};

/* Exported as ind_emulation_module. [shared_begin, shared_end) holds the static __shared__ variables. */
struct module {
    int abi;
    const runtime **table;
    const thread_state **now;
    unsigned char *shared_begin, *shared_end;
};

} // namespace ind_emulation

/* The fake cubin: this header, then `bytes` bytes of a shared library. `path` is where the compiler left the same bytes
 * ("" if nowhere). It begins as a cubin does, with an ELF file whose section .nv.info tells the kernel's frame. */
struct ind_emulation_image {
    unsigned char elf[224];
    char magic[8];
    unsigned long long bytes, hash;
    char path[1000];
};

#define IND_EMULATION_MAGIC "INDEMU1"
/* Emulated PTX: this, and the name of a compiled file. */
#define IND_EMULATION_PTX "//PTX "

#endif
