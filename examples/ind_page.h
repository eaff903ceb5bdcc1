/* ind_page.h: the HTML page of `ind emit --html` and `ind profile --html`. With --sass FOLDER the cubins are written to
 * that folder, and nvdisasm of the CUDA toolkit disassembles them. IND_NVDISASM names another program: it takes the
 * arguments `-c FILE.cubin` and prints text.
 */
#ifndef IND_PAGE_H
#define IND_PAGE_H

/* Writes the output of nvdisasm for FOLDER/NAME.cubin to FOLDER/NAME.sass, and returns it. NULL after a message. */
static char *disassemble(const char *path) {
    const char *program = getenv("IND_NVDISASM");
    const int stem = (int)(strlen(path) - strlen(".cubin"));
    char command[9000], file[4200];
    if (strpbrk(path, "\"'`$\\&|;<>%")) return fail("--sass: the folder's name has a character of the shell"), NULL;
    snprintf(file, sizeof file, "%.*s.sass", stem, path);
    snprintf(command, sizeof command, "%s -c \"%s\" > \"%s\"", program ? program : "nvdisasm", path, file);
    if (!system(command)) return read_text(file);
    fail("--sass: `%s` failed; nvdisasm of the CUDA toolkit is needed, on PATH or in IND_NVDISASM", command);
    return NULL;
}

/* Texts of disassembly, in the order of ind_module_cubin. */
typedef struct sass_texts {
    char **text;
    int num;
} sass_texts;

/* Writes FOLDER/NN_NAME.cubin, in which NN is the number of the source: two variants may share a name. */
static int write_cubin(const char *folder, int number, const ind_cubin *cubin, char path[4096]) {
    char why[4400];
    snprintf(path, 4096, "%s/%02d_%s.cubin", folder, number, cubin->name);
    return npy_write_file(path, cubin->data, cubin->bytes, NULL, 0, why, sizeof why) ? fail("%s", why) : 0;
}

/* Writes a cubin to the folder, and adds its disassembly. */
static int add_sass(const char *folder, const ind_cubin *cubin, sass_texts *sass) {
    char path[4096];
    char **grown = realloc(sass->text, ((size_t)sass->num + 1) * sizeof *grown);
    if (!grown) return fail("out of memory");
    sass->text = grown;
    if (write_cubin(folder, sass->num, cubin, path)) return 1;
    char *text = disassemble(path);
    if (text) sass->text[sass->num++] = text;
    return !text;
}

static int add_all_sass(ind_context *ctx, ind_module *m, const char *folder, sass_texts *sass) {
    ind_cubin cubin;
    ind_status status;
    int failed = make_directory(folder);
    while (!failed && !(status = ind_module_cubin(m, sass->num, &cubin))) {
        failed = add_sass(folder, &cubin, sass);
        ind_cubin_free(m, &cubin);
    }
    if (failed) return 1;
    return status == IND_ERROR_NOT_FOUND ? 0 : fail("%s", ind_error(ctx));
}

/* Prints the page. `desc` has the initial sizes and the times of `ind profile`. */
static int print_page(ind_context *ctx, ind_module *m, const options *o, ind_page_desc desc) {
    sass_texts sass = {0};
    int failed = o->sass && add_all_sass(ctx, m, o->sass, &sass);
    desc.sass = (const char *const *)sass.text;
    desc.num_sass = sass.num;
    const char *page = failed ? NULL : ind_module_page(m, &desc);
    if (page)
        fputs(page, stdout);
    else if (!failed)
        failed = fail("%s: %s", o->file, ind_error(ctx));
    for (int i = 0; i < sass.num; i++) free(sass.text[i]);
    free(sass.text);
    return failed;
}

#endif /* IND_PAGE_H */
