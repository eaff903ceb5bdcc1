/*
 * Tensor memory of one block (PTX ISA, tcgen05): 128 lanes of 512 columns of 32 bits, and the products in flight.
 *
 * A product is computed as late as possible: when a thread waits for an mbarrier and no bulk copy is left. Until then
 * its sums are garbage, unless they are added to. A commit makes them readable for threads that have waited for it,
 * directly or through others: `epoch` numbers the commits, and a thread, like an mbarrier, has seen those up to a
 * number.
 *
 * Functions return what is wrong, or nullptr.
 */
#ifndef IND_EMULATION_TENSOR_MEMORY_H
#define IND_EMULATION_TENSOR_MEMORY_H

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

namespace emulation {

/* What a thread has to do with tensor memory. */
struct tensor_view {
    unsigned long seen = 0;   /* commits that it has waited for */
    bool waited = false;      /* for other threads, without a tcgen05.fence::after_thread_sync since */
    bool loads_waited = true; /* tcgen05.wait::ld after the last load */
    bool loads_fenced = true; /* and tcgen05.fence::before_thread_sync after it */
    struct load {
        float *to;
        std::vector<float> value;
    };
    std::vector<load> loads; /* in flight */
};

/* A product: sums of 128 x n in columns from `first` on, from two shared memory descriptors. */
struct tensor_product {
    unsigned first;
    uint64_t a, b;
    unsigned instruction;
    bool accumulate, bytes;
    int n() const {
        return (int)(instruction >> 17 & 63u) * 8;
    }
};

class tensor_memory {
  public:
    static constexpr unsigned LANES = 128, COLUMNS = 512;

    /* The oldest operation in flight: a product, or a commit to `barrier`. */
    struct operation {
        unsigned thread;
        void *barrier; /* nullptr: a product */
        tensor_product product;
    };
    std::deque<operation> in_flight;
    unsigned long epoch = 0;

    /* From the last columns down: the address of all but the largest allocation is not 0. */
    const char *allocate(unsigned columns, unsigned &address) {
        if (columns < 32 || columns > COLUMNS || (columns & (columns - 1)) != 0) {
            return "tcgen05.alloc: the columns are not a power of two from 32 to 512";
        }
        if (relinquished) {
            return "tcgen05.alloc: the block has given up the permission to allocate";
        }
        for (int at = (int)(COLUMNS - columns); at >= 0; at -= 32) {
            if (!overlaps((unsigned)at, columns)) {
                allocations[(unsigned)at] = columns;
                address = (unsigned)at;
                spoil((unsigned)at, columns);
                return nullptr;
            }
        }
        return "tcgen05.alloc: so many columns will never be free";
    }

    const char *free(unsigned address, unsigned columns) {
        auto found = allocations.find(address);
        if (found == allocations.end() || found->second != columns) {
            return "tcgen05.dealloc: no such columns are allocated";
        }
        for (unsigned c = address; c < address + columns; c++) {
            if (column[c].written && !column[c].complete) {
                return "tcgen05.dealloc: products of these columns are not complete";
            }
        }
        allocations.erase(found);
        return nullptr;
    }

    void relinquish() {
        relinquished = true;
    }

    /* At the end of the block. */
    const char *leave() const {
        return !allocations.empty() ? "tensor memory is not freed at the end of the block"
               : !in_flight.empty() ? "tensor memory: a commit never arrives, as no thread waits for it"
                                    : nullptr;
    }

    const char *start(unsigned thread, const tensor_product &p) {
        const char *wrong = check_instruction(p);
        if (!wrong && !inside(p.first, (unsigned)p.n())) {
            wrong = "tcgen05.mma: the columns are not allocated, or the lane is not 0";
        }
        if (wrong) {
            return wrong;
        }
        if (!p.accumulate) {
            spoil(p.first, (unsigned)p.n());
        }
        for (unsigned c = p.first; c < p.first + (unsigned)p.n(); c++) {
            column[c] = {true, false, thread, 0};
        }
        in_flight.push_back({thread, nullptr, p});
        return nullptr;
    }

    void commit(unsigned thread, void *barrier) {
        in_flight.push_back({thread, barrier, {}});
    }

    /* `a`: 128 rows of k elements, b: n rows. */
    void finish(const tensor_product &p, const std::vector<float> &a, const std::vector<float> &b, int k) {
        const int n = p.n();
        for (int row = 0; row < (int)LANES; row++) {
            for (int col = 0; col < n; col++) {
                float &sum = word[(size_t)row * COLUMNS + p.first + (unsigned)col];
                float total = p.accumulate ? sum : 0.0f;
                for (int i = 0; i < k; i++) {
                    total += a[(size_t)(row * k + i)] * b[(size_t)(col * k + i)];
                }
                sum = total;
            }
        }
    }

    /* The products that the thread has started are complete. */
    void finish_commit(unsigned thread) {
        epoch++;
        for (auto &c : column) {
            if (c.written && !c.complete && c.thread == thread) {
                c.complete = true;
                c.epoch = epoch;
            }
        }
    }

    /* N columns of a lane of the warp, whose lanes are 32 * (warp % 4) to + 31. */
    const char *load(const tensor_view &view, unsigned warp, unsigned lane, unsigned address,
                     std::vector<float> &value) {
        const unsigned first = address & 0xffffu;
        if (address >> 16 != warp % 4 * 32) {
            return "tcgen05.ld: these lanes belong to another warp";
        }
        if (!inside(first, (unsigned)value.size())) {
            return "tcgen05.ld: the columns are not allocated";
        }
        for (size_t i = 0; i < value.size(); i++) {
            const auto &c = column[first + i];
            if (c.written && !c.complete) {
                return "tcgen05.ld: products of these columns are not complete";
            }
            if (c.written && c.epoch > view.seen) {
                return "tcgen05.ld: the thread has not waited for the commit of these columns";
            }
            value[i] = word[(size_t)(warp % 4 * 32 + lane) * COLUMNS + first + i];
        }
        return nullptr;
    }

  private:
    struct column_state {
        bool written, complete;
        unsigned thread;     /* that started the last product */
        unsigned long epoch; /* of the commit that completed it */
    };
    std::map<unsigned, unsigned> allocations; /* columns by address */
    bool relinquished = false;
    column_state column[COLUMNS] = {};
    std::vector<float> word;

    bool overlaps(unsigned first, unsigned columns) const {
        for (const auto &a : allocations) {
            if (first < a.first + a.second && a.first < first + columns) {
                return true;
            }
        }
        return false;
    }

    bool inside(unsigned first, unsigned columns) const {
        auto after = allocations.upper_bound(first);
        if (after == allocations.begin()) {
            return false;
        }
        --after;
        return first + columns <= after->first + after->second;
    }

    void spoil(unsigned first, unsigned columns) {
        word.resize((size_t)LANES * COLUMNS);
        for (unsigned lane = 0; lane < LANES; lane++) {
            memset(&word[(size_t)lane * COLUMNS + first], 0xcb, columns * sizeof(float));
        }
        for (unsigned c = first; c < first + columns; c++) {
            column[c] = {};
        }
    }

    /* The fields of the instruction descriptor, and those of the shared memory descriptors that do not place elements.
     */
    static const char *check_instruction(const tensor_product &p) {
        const unsigned i = p.instruction;
        if ((i & 15u) != 0 || (i >> 13 & 3u) != 0 || (i >> 30) != 0 || (i >> 6 & 1u) != 0 || (i >> 23 & 1u) != 0 ||
            (i >> 29 & 1u) != 0) {
            return "tcgen05.mma: only dense products without negation, saturation and shifts are emulated";
        }
        if ((i >> 4 & 3u) != 1 || (i >> 7 & 7u) > 1 || (i >> 10 & 7u) > 1) {
            return "tcgen05.mma: only f16, bf16, e4m3 and e5m2 with sums in f32 are emulated";
        }
        if ((i >> 24 & 31u) != 8 || p.n() % 16 != 0 || p.n() < 16 || p.n() > 256) {
            return "tcgen05.mma: 128 rows are multiplied by 16, 32, .. or 256 columns";
        }
        if (p.bytes && (i >> 15 & 3u) != 0) {
            return "tcgen05.mma: only 8-bit operands with rows along k are emulated";
        }
        for (uint64_t d : {p.a, p.b}) {
            if ((d >> 46 & 7u) != 1) {
                return "tcgen05.mma: a shared memory descriptor is not of version 1";
            }
            if (d >> 61 != 2 || (d >> 49 & 7u) != 0 || (d >> 52 & 1u) != 0) {
                return "tcgen05.mma: only the 128-byte swizzle of aligned tiles is emulated";
            }
        }
        return nullptr;
    }
};

} // namespace emulation

#endif
