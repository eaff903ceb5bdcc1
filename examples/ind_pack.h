/* ind pack: kernel packs, for processes that compile nothing.
 *
 *     ind pack FILE.ind... --arch sm_80,sm_89,H200 --output FILE.pack    all kernels of the graphs, for each target
 *     ind pack FILE.pack... --list [--json]                              the kernels
 *     ind pack FILE.pack... --verify                                     exit status 1 if a file is damaged
 *     ind pack FILE.pack... --merge --output FILE.pack                   one pack from several
 *
 * It needs NVRTC, but no GPU. A target is an architecture, a device, or compute_80: PTX, which the driver compiles for
 * devices of later architectures that the pack has no cubins for. Name the device if it has fewer SMs than that
 * whose figures stand for its architecture; one with more SMs runs the kernels, too. Options of a compile are those of
 * `ind emit`, and must be those of the process that will use the pack. */

#define MAX_FILES 256

typedef struct pack_options {
    options o;
    const char *file[MAX_FILES];
    int num_files;
    bool list, verify, merge;
} pack_options;

static int read_pack_options(int argc, char **argv, pack_options *p) {
    for (int i = 0; i < argc; i++) {
        bool *how = !strcmp(argv[i], "--list")     ? &p->list
                    : !strcmp(argv[i], "--verify") ? &p->verify
                    : !strcmp(argv[i], "--merge")  ? &p->merge
                                                   : NULL;
        if (how) {
            *how = true;
        } else if (*argv[i] != '-') {
            if (p->num_files == MAX_FILES) return fail("pack: more than %d files", MAX_FILES);
            p->file[p->num_files++] = argv[i];
        } else if (!read_flag(argv[i], &p->o)) {
            if (i + 1 == argc) return fail("%s: a value must follow, or the option is unknown", argv[i]);
            if (read_option(argv[i], argv[i + 1], &p->o)) return 1;
            i++;
        }
    }
    const bool writes = p->merge || !(p->list || p->verify);
    if (!p->num_files) return fail("pack: a file is needed");
    if (p->list + p->verify + p->merge > 1) return fail("pack: --list, --verify and --merge exclude each other");
    if (writes && !p->o.output) return fail("pack: --output FILE.pack is needed");
    return p->list || p->verify || p->merge || p->o.arch ? 0 : fail("pack: --arch is needed");
}

/* Compiles all kernels of the graph for the target. */
static int pack_target(ind_context *ctx, ind_graph *g, const options *o, const char *target) {
    ind_compile_desc desc = desc_of(o);
    ind_module *m;
    desc.emit_only = true;
    if (set_target(ctx, o, target, &desc.target)) return 1;
    if (ind_compile(g, &desc, &m)) return fail("%s", ind_error(ctx));
    const ind_status status = ind_module_build_cubins(m);
    if (status) fail("%s", ind_error(ctx));
    ind_module_destroy(m);
    return status != IND_OK;
}

/* The same for each target of a list with commas. */
static int pack_targets(ind_context *ctx, ind_graph *g, const options *o) {
    char name[64];
    for (const char *at = o->arch; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t n = strcspn(at, ",");
        if (n >= sizeof name) return fail("--arch %s: a name has more than %d characters", at, (int)sizeof name - 1);
        memcpy(name, at, n);
        name[n] = 0;
        if (pack_target(ctx, g, o, name)) return 1;
    }
    return 0;
}

static int print_kernels(ind_context *ctx, bool json) {
    ind_pack_kernel k;
    int i = 0;
    for (; !ind_pack_query_kernel(ctx, i, &k); i++) {
        const char *format = json ? "%s{\"name\": \"%s\", \"arch\": \"%s\", \"bytes\": %zu, \"registers\": %d, "
                                    "\"local_bytes\": %d, \"nvrtc\": %d, \"least_driver\": %d}"
                                  : "%s%s  %s  %zu bytes  registers %d  local %d bytes  NVRTC %d  driver %d\n";
        printf(format,
               json && i ? ",\n"
               : json    ? "["
                         : "",
               k.name, k.arch, k.bytes, k.registers, k.local_bytes, k.nvrtc_version, k.least_driver);
    }
    if (json) printf(i ? "]\n" : "[]\n");
    return 0;
}

static int print_pack(const char *path, const ind_pack_info *info) {
    printf("%s: %d kernels, %d targets, %d results of tuning", path, info->num_kernels, info->num_targets,
           info->num_tuned);
    if (info->num_damaged) printf(", %d damaged", info->num_damaged);
    printf(info->truncated ? ", truncated\n" : "\n");
    return info->num_damaged || info->truncated;
}

/* Reads a file: a pack, or a graph whose kernels are compiled. */
static int pack_file(ind_context *ctx, const pack_options *p, const char *file, bool *damaged) {
    ind_pack_info info;
    ind_graph *g;
    if (!p->list && !p->verify && !p->merge) return load_graph(ctx, file, &g) || pack_targets(ctx, g, &p->o);
    if (ind_pack_load(ctx, file, &info)) return fail("%s", ind_error(ctx));
    *damaged |= info.num_damaged || info.truncated;
    if (p->verify) print_pack(file, &info);
    return 0;
}

static int pack_all(ind_context *ctx, const pack_options *p) {
    ind_pack_info info;
    bool damaged = false;
    for (int i = 0; i < p->num_files; i++)
        if (pack_file(ctx, p, p->file[i], &damaged)) return 1;
    if (p->list && print_kernels(ctx, p->o.json)) return 1;
    if (damaged) return fail("pack: a file is damaged");
    if (p->list || p->verify) return 0;
    if (ind_pack_save(ctx, p->o.output) || ind_pack_load(ctx, p->o.output, &info)) return fail("%s", ind_error(ctx));
    return print_pack(p->o.output, &info);
}

static int pack_command(int argc, char **argv) {
    pack_options p = {0};
    ind_context *ctx;
    if (read_pack_options(argc, argv, &p)) return 1;
    if (ind_context_create(NULL, &ctx)) return fail("no memory");
    int failed = pack_all(ctx, &p);
    if (!failed && (fflush(stdout) || ferror(stdout))) failed = fail("stdout: cannot be written");
    ind_context_destroy(ctx);
    return failed;
}
