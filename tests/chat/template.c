/* Writes messages in the form of a chat template: template TEMPLATE_FILE SYSTEM USER.. Control parts are printed
 * between STX and ETX. SYSTEM "-": the default of the template. Exit status 1: the form is not known. */
#include "chat_template.h"
#include <stdio.h>
#include <stdlib.h>

static int print(void *user, const char *text, size_t bytes, bool control) {
    (void)user;
    if (control) putchar(2);
    fwrite(text, 1, bytes, stdout);
    if (control) putchar(3);
    return 0;
}

/* Stops at the part of this number. */
static int print_some(void *user, const char *text, size_t bytes, bool control) {
    int *left = user;
    if (!(*left)--) return 7;
    return print(NULL, text, bytes, control);
}

int main(int argc, char **argv) {
    static char text[1 << 16];
    char system[16];
    FILE *f = argc > 3 ? fopen(argv[1], "rb") : NULL;
    if (!f) return 2;
    const size_t length = fread(text, 1, sizeof text, f);
    fclose(f);
    char *exact = malloc(length + 1); /* a read past the end is seen by the sanitizer */
    if (!exact) return 2;
    memcpy(exact, text, length);
    exact = realloc(exact, length ? length : 1);
    const chat_template *t = exact ? chat_template_find(exact, length) : NULL;
    if (exact) chat_template_system(exact, length, system, sizeof system);
    free(exact);
    if (!t) return 1;
    printf("%s\n", t->name);
    const char *first = strcmp(argv[2], "-") ? argv[2] : system;
    const chat_writer writer = {print, NULL};
    for (int i = 3; i < argc; i++) {
        if (chat_template_write(t, i == 3 ? first : NULL, i > 3, argv[i], &writer)) return 2;
        if (i + 1 < argc) printf("<answer>");
    }
    for (int parts = 0;; parts++) { /* a writer that fails ends the message, whichever part it is */
        int left = parts;
        printf("\n");
        const chat_writer some = {print_some, &left};
        if (!chat_template_write(t, first, true, argv[3], &some)) break;
    }
    return 0;
}
