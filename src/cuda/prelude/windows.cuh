// Bulk copies of windows of images.
//@ WINDOWS
#ifndef IND_EMULATION
// Starts the copy of neighbouring windows of a tensor map of windows, from the one that begins at element (x, y, z) of the
// image on: of each the element at its tap, in the channels from `channel` on. RANK: dimensions of an image.
template <int RANK>
static IND_INLINE void ind_copy_windows(void *tile, const ind_tensor_map &map, unsigned long long *barrier, int channel, int image,
                                        int x, unsigned short tap_x, int y = 0, unsigned short tap_y = 0, int z = 0, unsigned short tap_z = 0) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), on = (unsigned)__cvta_generic_to_shared(barrier);
    if (RANK == 1)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4, %5}], [%2], {%6};"
                     :: "r"(to), "l"(&map), "r"(on), "r"(channel), "r"(x), "r"(image), "h"(tap_x) : "memory");
    if (RANK == 2)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                     :: "r"(to), "l"(&map), "r"(on), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(tap_x), "h"(tap_y) : "memory");
    if (RANK == 3)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};"
                     :: "r"(to), "l"(&map), "r"(on), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image), "h"(tap_x), "h"(tap_y), "h"(tap_z) : "memory");
}
#endif
//@ MULTICAST_WINDOWS
#ifndef IND_EMULATION
// The same to the blocks of the cluster whose bits are set in `blocks`, as ind_bulk_multicast.
template <int RANK>
static IND_INLINE void ind_multicast_windows(void *tile, const ind_tensor_map &map, unsigned long long *barrier, unsigned short blocks, int channel, int image,
                                        int x, unsigned short tap_x, int y = 0, unsigned short tap_y = 0, int z = 0, unsigned short tap_z = 0) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), on = (unsigned)__cvta_generic_to_shared(barrier);
    if (RANK == 1)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6}], [%2], {%7}, %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(channel), "r"(x), "r"(image), "h"(tap_x) : "memory");
    if (RANK == 2)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6, %7}], [%2], {%8, %9}, %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(tap_x), "h"(tap_y) : "memory");
    if (RANK == 3)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%4, %5, %6, %7, %8}], [%2], {%9, %10, %11}, %3;"
                     :: "r"(to), "l"(&map), "r"(on), "h"(blocks), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image), "h"(tap_x), "h"(tap_y), "h"(tap_z) : "memory");
}
#endif
