/* A program that runs a graph which `ind export` has written as C. It has the driver library and nothing else:
 *
 *     ind export mlp.ind --arch sm_80,sm_89,H200 --random 1 --output mlp       mlp.h, mlp.c, mlp.weights
 *     cc main.c mlp.c runtime.c -I.. -ldl -o main && ./main
 */
#include "mlp.h"
#include <stdio.h>

static int failed(mlp *m) {
    fprintf(stderr, "%s\n", mlp_error(m));
    mlp_close(m);
    return 1;
}

int main(int argc, char **argv) {
    static float x[3 * 256], y[3 * 512];
    const mlp_sizes sizes = {.B = 3};
    void *at[mlp_num_bindings] = {NULL}; /* the constants stay NULL: the model has them */
    char why[256];
    mlp *m;
    for (int i = 0; i < 3 * 256; i++) x[i] = (float)(i % 17 - 8) / 8;
    if (mlp_open(&m, argc > 1 ? argv[1] : "mlp.weights", NULL, why, sizeof why))
        return fprintf(stderr, "%s\n", why), 1;
    if (mlp_alloc(m, sizeof x, &at[mlp_x]) || mlp_alloc(m, sizeof y, &at[mlp_y])) return failed(m);
    if (mlp_upload(m, at[mlp_x], x, sizeof x)) return failed(m);
    if (mlp_launch(m, &sizes, at, NULL) || mlp_check(m)) return failed(m); /* NULL: the default stream */
    if (mlp_download(m, y, at[mlp_y], sizeof y)) return failed(m);
    printf("%g %g .. %g\n", (double)y[0], (double)y[1], (double)y[3 * 512 - 1]);
    mlp_free(m, at[mlp_x]);
    mlp_free(m, at[mlp_y]);
    mlp_close(m);
    return 0;
}
