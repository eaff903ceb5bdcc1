/* A helper of the tests: one line of ids for each line of standard input. usage: tokenize vocab.txt MOST < text */
#include "wordpiece.h"

int main(int argc, char **argv) {
    static char line[1 << 16];
    static int64_t ids[4096];
    char why[256];
    wordpiece w;
    int most = argc == 3 ? atoi(argv[2]) : 0;
    if (most < 2 || most > 4096) return 2;
    if (wordpiece_open(argv[1], &w, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        int n = wordpiece_encode(&w, line, ids, most);
        for (int i = 0; i < n; i++) printf("%s%d", i ? " " : "", (int)ids[i]);
        puts("");
    }
    wordpiece_close(&w);
    return 0;
}
