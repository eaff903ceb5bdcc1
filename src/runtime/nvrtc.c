/* ------------------------------------------------------------------------------------------------- >>nvrtc */

/* One source to compile. Workers only call NVRTC. The calling thread allocates before and after: a user's allocator
   need not support threads that it did not create. */
typedef struct rt__cuda_job {
    const rt__cuda_nvrtc *nvrtc;
    const char *source, *name, *arch_option;
    bool ptx;           /* the result is PTX, not a cubin */
    const char *folder; /* ind_context_desc.cuda.source_folder */
    void *program;
    int result;
    bool unwritten; /* the source could not be written to the folder */
    double ms;
} rt__cuda_job;

/* No fast-math: results are compared with the host device. -default-device allows helper functions without a
   qualifier. --minimal (from 12.4) omits features these sources do not use and saves about a third of the time. */
#define IND__CUDA_OPTIONS     "-default-device", "--std=c++17"
#define IND__CUDA_OPTIONS_KEY "-default-device;--std=c++17"

/* Writes the source to the job's folder. `path`: its file, whose name has a hash of the source, as kernels of one name
   differ. */
static bool rt__cuda_write_source(const rt__cuda_job *j, char *path, size_t path_size) {
    const size_t bytes = strlen(j->source);
    const int length = snprintf(path, path_size, "%s/%s-%016llx.cu", j->folder, j->name,
                                (unsigned long long)ind__hash(j->source, bytes, 0));
    FILE *f = length > 0 && (size_t)length < path_size ? fopen(path, "wb") : NULL;
    if (!f) return false;
    const bool written = fwrite(j->source, 1, bytes, f) == bytes;
    return !fclose(f) && written;
}

static void rt__cuda_job_run(void *arg, int64_t index, int worker) {
    (void)worker;
    rt__cuda_job *j = (rt__cuda_job *)arg + index;
    const char *options[6] = {j->arch_option, IND__CUDA_OPTIONS};
    const char *name = j->name;
    char path[1024];
    int num = 3;
    const double start = ind__now_ms();
    if (j->nvrtc->version >= 1204) options[num++] = "--minimal";
    if (j->folder && rt__cuda_write_source(j, path, sizeof path)) {
        options[num++] = "--generate-line-info";
        name = path;
    } else if (j->folder) {
        j->unwritten = true;
    }
    j->result = j->nvrtc->nvrtcCreateProgram(&j->program, j->source, name, 0, NULL, NULL);
    if (!j->result) j->result = j->nvrtc->nvrtcCompileProgram(j->program, num, options);
    j->ms = ind__now_ms() - start;
}

/* The source with line numbers, `around` lines on each side of `line` (0: all of it). */
static void rt__cuda_number_lines(ind__text *t, const char *source, int line, int around) {
    for (int n = 1; *source; n++) {
        size_t length = strcspn(source, "\n");
        if (!line || (n >= line - around && n <= line + around)) ind__textf(t, "%5d  %.*s\n", n, (int)length, source);
        source += length + (source[length] == '\n');
    }
}

/* Finds the first "name(LINE): error: text" of a log. Returns the text (one line of *length), NULL if there is none. */
static const char *rt__cuda_first_error(const char *log, int *line, size_t *length) {
    const char *e = strstr(log, "error");
    *line = 0;
    if (!e) return NULL;
    const char *begin = e;
    while (begin > log && begin[-1] != '\n') begin--;
    const char *open = (const char *)memchr(begin, '(', (size_t)(e - begin));
    if (open) *line = (int)strtol(open + 1, NULL, 10);
    e += strcspn(e, ":\n");
    if (*e == ':') e++;
    while (*e == ' ') e++;
    *length = strcspn(e, "\n");
    return e;
}

/* Finds the function in which the log reports the error at `error`. For a function of the user: its lines in the
   source, and its name in name[]; else the whole source. The emitter writes `#line 1 "swish"` before such a function
   (cg__define_functions). */
static const char *rt__cuda_lines_of(const char *log, const char *error, const char *source, char name[72]) {
    const char *begin = error;
    while (begin > log && begin[-1] != '\n') begin--;
    size_t n = strcspn(begin, "(\n");
    char mark[96];
    snprintf(mark, sizeof mark, "\n#line 1 \"%.*s\"\n", n < 64 ? (int)n : 64, begin);
    const char *at = strstr(source, mark);
    name[0] = 0;
    if (!at) return source;
    snprintf(name, 72, "%.*s, ", (int)(n < 64 ? n : 64), begin);
    return at + strlen(mark);
}

static ind_status rt__cuda_job_error(ind_context *c, const rt__cuda_job *j) {
    size_t bytes = 0;
    char *log = NULL;
    if (j->program && !j->nvrtc->nvrtcGetProgramLogSize(j->program, &bytes) && bytes) {
        log = (char *)ind__alloc(c, bytes + 1);
        if (log && j->nvrtc->nvrtcGetProgramLog(j->program, log)) log[0] = 0;
    }
    ind__text text = {.context = c};
    rt__cuda_number_lines(&text, j->source, 0, 0);
    ind__log(c, 3, IND_LOG_KERNEL, "%s: log of NVRTC:\n%s", j->name, log ? log : "");
    ind__log(c, 3, IND_LOG_KERNEL, "%s: source:\n%s", j->name, text.data ? text.data : "");
    text.size = 0;
    int line = 0;
    size_t length = 0;
    const char *error = log ? rt__cuda_first_error(log, &line, &length) : NULL;
    if (error && line) {
        char function[72];
        const char *lines = rt__cuda_lines_of(log, error, j->source, function);
        ind__textf(&text, "error at %s%sline %d: %.*s\n", function[0] ? "function " : "", function, line, (int)length,
                   error);
        rt__cuda_number_lines(&text, lines, line, 2);
    } else {
        ind__textf(&text, "error %d: %.*s\n", j->result, error ? (int)length : 0, error ? error : "");
    }
    if (text.size && !text.failed) text.data[text.size - 1] = 0;
    ind_status status = ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: %s", j->name, text.failed ? "" : text.data);
    ind__text_free(&text);
    ind__free(c, log);
    return status;
}

/* Returns the compiled bytes of a finished job; the caller frees them. */
static ind_status rt__cuda_job_result(ind_context *c, const rt__cuda_job *j, void **out, size_t *bytes) {
    const bool ptx = j->ptx;
    *out = NULL;
    if (j->unwritten)
        ind__log(c, 1, IND_LOG_KERNEL, "%s: its source cannot be written to %s, so it has no line information", j->name,
                 j->folder);
    if (j->result) return rt__cuda_job_error(c, j);
    const rt__cuda_nvrtc *n = j->nvrtc;
    int result = ptx ? n->nvrtcGetPTXSize(j->program, bytes) : n->nvrtcGetCUBINSize(j->program, bytes);
    if (!result && !*bytes) result = -1;
    if (result)
        return ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: no %s came out (error %d)", j->name,
                         ptx ? "PTX" : "cubin", result);
    *out = ind__alloc(c, *bytes);
    if (!*out) return IND_ERROR_OUT_OF_MEMORY;
    result = ptx ? n->nvrtcGetPTX(j->program, (char *)*out) : n->nvrtcGetCUBIN(j->program, (char *)*out);
    if (!result) return IND_OK;
    ind__free(c, *out);
    *out = NULL;
    return ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: error %d", j->name, result);
}

static void rt__cuda_job_free(rt__cuda_job *j) {
    if (j->program) (void)j->nvrtc->nvrtcDestroyProgram(&j->program);
    j->program = NULL;
}

static void rt__cuda_arch_option(const ind_target *t, bool ptx, char out[64]) {
    ind_target of = *t;
    char arch[16];
    of.ptx |= ptx;
    ind__target_name(&of, arch);
    snprintf(out, 64, "--gpu-architecture=%s", arch);
}

ind_status ind__nvrtc_compile(ind_context *c, const char *source, const char *name, const ind_target *t, bool ptx,
                              void **out, size_t *bytes) {
    *out = NULL;
    *bytes = 0;
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__cuda_open_nvrtc(c, r);
    rt__mutex_unlock(&r->mutex);
    if (status) return status;
    char option[64];
    rt__cuda_arch_option(t, ptx, option);
    rt__cuda_job job = {.nvrtc = &r->nvrtc,
                        .source = source,
                        .name = name,
                        .arch_option = option,
                        .ptx = ptx || t->ptx,
                        .folder = c->desc.cuda.source_folder};
    rt__cuda_job_run(&job, 0, 0);
    status = rt__cuda_job_result(c, &job, out, bytes);
    rt__cuda_job_free(&job);
    return status;
}

static uint64_t rt__little_endian(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | p[bytes];
    return v;
}

/* Attribute records of a .nv.info section: format, attribute, then a 16-bit value or the length of the data after
   it. */
static void rt__read_nv_info(const unsigned char *p, size_t n, int *registers, int *local_bytes) {
    enum { IND__FORMAT_SIZED = 4, IND__REGISTERS = 0x2f, IND__FRAME_SIZE = 0x11 };
    for (size_t at = 0; at + 4 <= n;) {
        size_t length = p[at] == IND__FORMAT_SIZED ? (size_t)rt__little_endian(p + at + 2, 2) : 0;
        if (length > n - at - 4) return;
        if (length >= 8 && p[at + 1] == IND__REGISTERS) *registers = (int)rt__little_endian(p + at + 8, 4);
        if (length >= 8 && p[at + 1] == IND__FRAME_SIZE) *local_bytes = (int)rt__little_endian(p + at + 8, 4);
        at += 4 + length;
    }
}

/* Reads registers and stack frame from a cubin, an ELF file. Its section .nv.info lists them per kernel; the cubin has
   one kernel. Missing values stay -1. */
void ind__cubin_resources(const void *cubin, size_t n, int *registers, int *local_bytes) {
    const unsigned char *p = (const unsigned char *)cubin;
    *registers = *local_bytes = -1;
    if (n < 64 || memcmp(p, "\177ELF", 4)) return;
    uint64_t table = rt__little_endian(p + 40, 8), count = rt__little_endian(p + 60, 2),
             names = rt__little_endian(p + 62, 2);
    if (table > n || count * 64 > n - table || names >= count) return;
    uint64_t strings = rt__little_endian(p + table + names * 64 + 24, 8);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *section = p + table + i * 64;
        uint64_t name = strings + rt__little_endian(section, 4), from = rt__little_endian(section + 24, 8),
                 size = rt__little_endian(section + 32, 8);
        if (name > n || n - name < 9 || memcmp(p + name, ".nv.info", 9)) continue;
        if (from <= n && size <= n - from) rt__read_nv_info(p + from, (size_t)size, registers, local_bytes);
    }
}
