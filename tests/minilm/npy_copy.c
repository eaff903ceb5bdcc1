/* A helper of the tests: reads one .npy and writes what it read. usage: npy_copy FROM TO */
#include "npy.h"

int main(int argc, char **argv) {
    char why[256];
    npy_array a;
    if (argc != 3) return 2;
    if (npy_read(argv[1], &a, why, sizeof why) ||
        npy_write(argv[2], a.descr, a.rank, a.shape, a.data, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    npy_free(&a);
    return 0;
}
