/* ---- NAME.h, NAME.c and NAME.weights */

#define IND__WEIGHTS_ALIGNMENT 64 /* of constants in NAME.weights, from byte 24 on */

/* A name of the graph as a C identifier. */
static const char *ind__export_identifier(const char *name, char out[96]) {
    size_t n = 0;
    for (; name[n] && n < 95; n++) {
        const char ch = name[n], letter = (char)(ch | 32);
        out[n] = (letter >= 'a' && letter <= 'z') || (ch >= '0' && ch <= '9') ? ch : '_';
    }
    out[n] = 0;
    return out;
}

/* True for a reserved word of C or C++ that a size or a graph may well have as a name. */
static bool ind__is_reserved(const char *name) {
    static const char words[] = " int long short char float double bool void if else for while do switch case default "
                                "break continue return goto struct union enum const static auto register signed "
                                "unsigned sizeof typedef volatile extern inline restrict class new delete template "
                                "this public private protected virtual try catch throw namespace operator using true "
                                "false friend export module ";
    const size_t length = strlen(name);
    for (const char *at = strstr(words, name); at && *name; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[length] == ' ') return true;
    return false;
}

static bool ind__is_identifier(const char *name) {
    char same[96];
    return name && *name && !ind__is_reserved(name) && !(*name >= '0' && *name <= '9') && strlen(name) < 40 &&
           !strcmp(ind__export_identifier(name, same), name);
}

/* "f32[B, 256]" */
static void ind__export_type(ind__text *t, const ind_binding_info *b) {
    ind__textf(t, "%s[", ind_dtype_name(b->dtype));
    for (int d = 0; d < b->rank; d++) {
        if (d) ind__textf(t, ", ");
        ind__text_expr(t, b->size[d]);
    }
    ind__textf(t, "]");
}

/* The bytes of a constant; -1: they depend on sizes. */
static int64_t ind__constant_bytes(const ind_module *m, uint32_t binding) {
    const ind_binding_info *b = &m->binding[binding];
    int64_t bytes;
    const ind_expr all =
        ind_expr_mul(ind_expr_product(m->context, b->size, b->rank), ind_int(m->context, ind_dtype_bytes(b->dtype)));
    return ind_expr_is_int(all, &bytes) ? bytes : -1;
}

static int64_t ind__aligned(int64_t bytes, int64_t to) {
    return (bytes + to - 1) / to * to;
}

/* The bytes of NAME.weights after its header, and a key of the constants: names, types and places. */
static ind_status ind__weights_layout(const ind_module *m, int64_t *bytes, uint64_t *key) {
    ind__text t = {.context = m->context};
    *bytes = 0;
    *key = 0xcbf29ce484222325u; /* FNV-1a */
    for (uint32_t i = 0; i < m->num_public; i++) {
        if (m->binding[i].kind != IND_BINDING_CONST) continue;
        const int64_t each = ind__constant_bytes(m, i);
        if (each < 0) {
            ind__text_free(&t);
            return ind__fail(m->context, IND_ERROR_NOT_SUPPORTED,
                             "export of \"%s\": constant \"%s\" has a symbolic size", m->desc.name, m->binding[i].name);
        }
        ind__textf(&t, "%s %lld ", m->binding[i].name, (long long)*bytes);
        ind__export_type(&t, &m->binding[i]);
        *bytes += ind__aligned(each, IND__WEIGHTS_ALIGNMENT);
    }
    for (size_t i = 0; i < t.size; i++) *key = (*key ^ (unsigned char)t.data[i]) * 0x100000001b3u;
    const ind_status status = ind__text_status(&t);
    ind__text_free(&t);
    return status;
}

/* ---- NAME.c */

static void ind__export_sizes(ind__text *t, const ind_module *m, const char *name) {
    if (!m->desc.num_sizes) return;
    ind__textf(t, "static const ind_exported_size ind_%s_size[] = {\n", name);
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_expr_symbol(m->desc.sizes[i]);
        ind__textf(t, "    {\"%s\", INT64_C(%lld), INT64_C(%lld), INT64_C(%lld)},\n", s->name, (long long)s->lo,
                   (long long)s->hi, (long long)s->multiple_of);
    }
    ind__textf(t, "};\n\n");
}

static ind_status ind__export_conditions(ind__text *t, const ind_module *m, const char *name, uint32_t *slots) {
    ind__program p;
    char function[64];
    *slots = 0;
    if (!m->desc.num_conditions) return IND_OK;
    ind_status status = ind__program_init(&p, m->context, m->desc.sizes, m->desc.num_sizes);
    if (status) return status;
    ind__textf(t, "static const ind_exported_condition ind_%s_condition[] = {\n", name);
    for (uint32_t i = 0; i < m->desc.num_conditions && !status; i++) {
        const uint32_t slot = ind__program_add(&p, m->desc.condition[i].e);
        if (slot == UINT32_MAX) status = ind__failed(m->context);
        bool guard = false;
        const char *text = ind_module_query_condition(m, (int)i, &guard);
        ind__textf(t, "    {\"%s\", %u, ", text ? text : "", slot);
        ind__textf(t, "%d},\n", guard);
    }
    ind__textf(t, "};\n\n");
    snprintf(function, sizeof function, "ind_%s_conditions", name);
    ind__export_program(t, &p, function);
    *slots = p.num_inputs + p.num_ops;
    ind__program_free(&p);
    return status;
}

static void ind__export_public(ind__text *t, const ind_module *m, const char *name) {
    static const char *const kinds[] = {"INPUT", "CONSTANT", "OUTPUT"};
    int64_t at = 0;
    ind__textf(t, "static const ind_exported_binding ind_%s_binding[] = {\n", name);
    for (uint32_t i = 0; i < m->num_public; i++) {
        const ind_binding_info *b = &m->binding[i];
        const bool constant = b->kind == IND_BINDING_CONST;
        const int64_t bytes = constant ? ind__constant_bytes(m, i) : 0;
        ind__textf(t, "    {\"%s\", \"", b->name);
        ind__export_type(t, b);
        ind__textf(t, "\", IND_EXPORTED_%s, INT64_C(%lld), INT64_C(%lld)},\n", kinds[b->kind], (long long)bytes,
                   (long long)(constant ? at : 0));
        at += ind__aligned(bytes, IND__WEIGHTS_ALIGNMENT);
    }
    ind__textf(t, "};\n\n");
}

/* The constants that the prepare module reads, and the places of its results. Writes the members of the target that
   name them to `member`. */
static void ind__export_prepared(ind__text *t, const ind_module *m, const char *tag, ind__text *member) {
    const ind_module *p = m->desc.prepare;
    int64_t bytes = 0;
    if (p && p->num_consts) {
        ind__textf(t, "static const uint32_t %s_constant[] = {", tag);
        for (uint32_t k = 0; k < p->num_consts; k++)
            for (uint32_t i = m->num_inputs; i < m->num_inputs + m->num_consts; i++)
                if (!strcmp(m->binding[i].name, p->binding[k].name)) ind__textf(t, "%s%u", k ? ", " : "", i);
        ind__textf(t, "};\n\n");
    }
    if (m->num_bindings > m->num_public) {
        ind__textf(t, "static const int64_t %s_at[] = {", tag);
        for (uint32_t i = m->num_public; i < m->num_bindings; i++) {
            ind__textf(t, "%sINT64_C(%lld)", i > m->num_public ? ", " : "", (long long)bytes);
            bytes += ind__aligned(ind__constant_bytes(m, i), 256);
        }
        ind__textf(t, "};\n\n");
    }
    ind__textf(member, p && p->num_consts ? "%s_constant, " : "NULL, ", tag);
    ind__textf(member, m->num_bindings > m->num_public ? "%s_at, " : "NULL, ", tag);
    ind__textf(member, "INT64_C(%lld), %u, %u,\n     ", (long long)bytes, p ? p->num_consts : 0,
               m->num_bindings - m->num_public);
}

static void ind__export_launches(ind__text *t, ind_module *m, const char *tag, ind__text *member, ind_status *status) {
    if (*status) return;
    if (m)
        *status = ind__export_module(m, tag, t, member);
    else
        ind__textf(member, "{NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0}");
}

static ind_status ind__export_targets(ind__text *t, const ind_export_desc *d) {
    ind__text rows = {.context = d->modules[0]->context};
    ind_status status = IND_OK;
    for (int i = 0; i < d->num_modules && !status; i++) {
        ind_module *m = d->modules[i];
        const ind_target *target = &m->desc.plan->target;
        char main[64], prepare[64], arch[16];
        ind__target_name(target, arch);
        snprintf(main, sizeof main, "ind_%s_%d_main", d->name, i);
        snprintf(prepare, sizeof prepare, "ind_%s_%d_prepare", d->name, i);
        ind__textf(&rows, "    {\"%s\", %d, %d, %d, %d, ", arch, target->sm / 10, target->sm % 10, target->num_sms,
                   target->shared_per_block);
        ind__export_prepared(t, m, prepare, &rows);
        ind__export_launches(t, m, main, &rows, &status);
        ind__textf(&rows, ",\n     ");
        ind__export_launches(t, m->desc.prepare, prepare, &rows, &status);
        ind__textf(&rows, "},\n");
    }
    if (!status) status = ind__text_status(&rows);
    if (!status) ind__textf(t, "static const ind_exported_target ind_%s_target[] = {\n%s};\n\n", d->name, rows.data);
    ind__text_free(&rows);
    return status;
}

/* The text with @ replaced by the name, $ by the parameter of the sizes, and # by its value as an array. */
static void ind__export_expand(ind__text *t, const char *text, const char *name, bool sized) {
    for (; *text; text++) {
        if (*text == '@')
            ind__textf(t, "%s", name);
        else if (*text == '$' && sized)
            ind__textf(t, "const %s_sizes *sizes, ", name);
        else if (*text == '#')
            ind__textf(t, sized ? "(const int64_t *)sizes" : "NULL");
        else if (*text != '$')
            ind__textf(t, "%c", *text);
    }
}

static const char ind__export_functions[] =
    "int @_open(@ **model, const char *weights, void *cuda_context, char *why, size_t why_size) {\n"
    "    const ind_exported_desc desc = {.context = cuda_context};\n"
    "    ind_status status = ind_exported_open(&ind_@_tables, &desc, model, why, why_size);\n"
    "    if (!status && weights) status = ind_exported_weights(*model, weights);\n"
    "    if (status && model && *model) {\n"
    "        if (why_size) snprintf(why, why_size, \"%s\", ind_exported_error(*model));\n"
    "        ind_exported_close(*model);\n"
    "        *model = NULL;\n"
    "    }\n"
    "    return (int)status;\n"
    "}\n\n"
    "void @_close(@ *m) {\n    ind_exported_close(m);\n}\n\n"
    "const char *@_error(const @ *m) {\n    return ind_exported_error(m);\n}\n\n"
    "int @_constant(@ *m, int binding, const void *data, size_t bytes) {\n"
    "    return (int)ind_exported_constant(m, (uint32_t)binding, data, bytes);\n}\n\n"
    "int @_bytes(@ *m, int binding, $int64_t *bytes) {\n"
    "    return (int)ind_exported_bytes(m, (uint32_t)binding, #, bytes);\n}\n\n"
    "int @_launch(@ *m, $void *const pointers[@_num_bindings], void *stream) {\n"
    "    return (int)ind_exported_launch(m, #, pointers, stream);\n}\n\n"
    "void @_constants_changed(@ *m) {\n    ind_exported_constants_changed(m);\n}\n\n"
    "int @_check(@ *m) {\n    return (int)ind_exported_check(m);\n}\n\n"
    "int @_alloc(@ *m, size_t bytes, void **pointer) {\n    return (int)ind_exported_alloc(m, bytes, pointer);\n}\n\n"
    "void @_free(@ *m, void *pointer) {\n    ind_exported_free(m, pointer);\n}\n\n"
    "int @_upload(@ *m, void *to, const void *from, size_t bytes) {\n"
    "    return (int)ind_exported_upload(m, to, from, bytes);\n}\n\n"
    "int @_download(@ *m, void *to, const void *from, size_t bytes) {\n"
    "    return (int)ind_exported_download(m, to, from, bytes);\n}\n";

static const char ind__export_declarations[] =
    "/* Functions return 0 or a status (ind_status), with a sentence in @_error, or in `why`. One thread at a time may "
    "use\n"
    "   a model; its runs are in one stream, or ordered otherwise. */\n"
    "typedef struct ind_exported_model @;\n\n"
    "/* Opens the driver, loads the kernels and the file of weights. weights: NULL, if the caller sets the constants.\n"
    "   cuda_context: CUcontext, NULL: the primary context of device 0. On failure *model is NULL. */\n"
    "int @_open(@ **model, const char *weights, void *cuda_context, char *why, size_t why_size);\n"
    "void @_close(@ *m);\n"
    "const char *@_error(const @ *m);\n\n"
    "/* Copies a constant from host memory. Of constants that launches bind, say if the contents change. */\n"
    "int @_constant(@ *m, int binding, const void *data, size_t bytes);\n"
    "void @_constants_changed(@ *m);\n\n"
    "/* The most bytes of a binding at these sizes. */\n"
    "int @_bytes(@ *m, int binding, $int64_t *bytes);\n\n"
    "/* Enqueues a run on a CUstream. pointers: device memory; NULL for constants that the model has. Memory that a "
    "run\n"
    "   writes overlaps no other. With the sizes and pointers of the launch before nothing is computed or allocated: "
    "the\n"
    "   stream may be captured. @_check waits for the stream of the last run, and reports an index out of range. */\n"
    "int @_launch(@ *m, $void *const pointers[@_num_bindings], void *stream);\n"
    "int @_check(@ *m);\n\n"
    "/* Device memory, for programs without a CUDA runtime. The copies are in the default stream, and wait. */\n"
    "int @_alloc(@ *m, size_t bytes, void **pointer);\n"
    "void @_free(@ *m, void *pointer);\n"
    "int @_upload(@ *m, void *to, const void *from, size_t bytes);\n"
    "int @_download(@ *m, void *to, const void *from, size_t bytes);\n";

/* True if the name, after that of the graph, is a function or a type of NAME.h, or the identifier of an earlier
 * binding. */
static bool ind__export_is_taken(const ind_module *m, uint32_t binding, const char *word) {
    static const char *const names[] = {"open",     "close", "error",        "constant", "bytes",
                                        "launch",   "check", "alloc",        "free",     "upload",
                                        "download", "sizes", "num_bindings", "binding",  "constants_changed"};
    char other[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i])) return true;
    for (uint32_t i = 0; i < binding; i++)
        if (!strcmp(word, ind__export_identifier(m->binding[i].name, other))) return true;
    return false;
}

/* The struct of the sizes, and the numbers of the bindings with their types. */
static void ind__export_names(ind__text *t, const ind_module *m, const char *name) {
    char word[96];
    if (m->desc.num_sizes) {
        ind__textf(t, "typedef struct %s_sizes {\n    int64_t ", name);
        for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
            ind__textf(t, "%s%s", i ? ", " : "", ind__export_identifier(ind_expr_symbol(m->desc.sizes[i])->name, word));
            if (ind__is_reserved(word)) ind__textf(t, "_");
        }
        ind__textf(t, ";\n} %s_sizes;\n\n", name);
    }
    ind__textf(t, "enum %s_binding {\n", name);
    for (uint32_t i = 0; i < m->num_public; i++) {
        static const char *const kinds[] = {"input", "constant", "output"};
        ind__textf(t, "    %s_%s", name, ind__export_identifier(m->binding[i].name, word));
        if (ind__export_is_taken(m, i, word)) ind__textf(t, "_%u", i);
        const bool written = m->binding[i].mutated || m->binding[i].donated;
        ind__textf(t, ", /* %s%s ", kinds[m->binding[i].kind], written ? ", written," : "");
        ind__export_type(t, &m->binding[i]);
        ind__textf(t, " */\n");
    }
    ind__textf(t, "    %s_num_bindings\n};\n\n", name);
}

static void ind__export_header(ind__text *t, const ind_module *m, const char *name) {
    char graph[96];
    ind__textf(t, "/* %s.h: graph %s, written by `ind export`. */\n#ifndef %s_h_\n#define %s_h_\n\n", name,
               ind__export_identifier(m->desc.name, graph), name, name);
    ind__textf(t, "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    ind__export_names(t, m, name);
    ind__export_expand(t, ind__export_declarations, name, m->desc.num_sizes > 0);
    ind__textf(t, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void ind__export_begin(ind__text *t, const ind_module *m, const char *name) {
    char graph[96];
    ind__textf(t, "/* %s.c: graph %s, written by `ind export`. One file of the program creates the runtime:\n\n", name,
               ind__export_identifier(m->desc.name, graph));
    ind__textf(
        t, "       #define IND_RUNTIME_ONLY\n       #define INDUCTOR_RUNTIME_IMPLEMENTATION\n"
           "       #include \"inductor_runtime.h\"\n*/\n#ifndef IND_RUNTIME_ONLY\n#define IND_RUNTIME_ONLY\n#endif\n");
    ind__textf(t, "#include \"inductor_runtime.h\"\n#include \"%s.h\"\n#include <stdio.h>\n\n", name);
    ind__textf(t,
               "#if IND_EXPORTED_VERSION != 2\n#error \"%s.c is for another version of inductor_runtime.h: export it "
               "again\"\n#endif\n\n",
               name);
}

static ind_status ind__export_source(ind__text *t, const ind_export_desc *d) {
    const ind_module *m = d->modules[0];
    const char *name = d->name;
    uint64_t key;
    int64_t weights;
    uint32_t slots = 0;
    ind__export_begin(t, m, name);
    ind_status status = ind__weights_layout(m, &weights, &key);
    if (!status) status = ind__export_targets(t, d);
    ind__export_sizes(t, m, name);
    if (!status) status = ind__export_conditions(t, m, name, &slots);
    if (status) return status;
    ind__export_public(t, m, name);
    ind__textf(t, "static const ind_exported ind_%s_tables = {\n    .name = \"%s\",\n", name, name);
    ind__textf(t, "    .weights_key = UINT64_C(%llu),\n    .weights_bytes = INT64_C(%lld),\n", (unsigned long long)key,
               (long long)weights);
    if (m->desc.num_sizes) ind__textf(t, "    .size = ind_%s_size,\n", name);
    ind__textf(t, "    .binding = ind_%s_binding,\n", name);
    if (slots) ind__textf(t, "    .condition = ind_%s_condition,\n    .conditions = ind_%s_conditions,\n", name, name);
    ind__textf(t, "    .target = ind_%s_target,\n    .num_sizes = %u,\n    .num_bindings = %u,\n", name,
               m->desc.num_sizes, m->num_public);
    ind__textf(t, "    .num_conditions = %u,\n    .num_condition_slots = %u,\n    .num_targets = %d};\n\n",
               m->desc.num_conditions, slots, d->num_modules);
    ind__export_expand(t, ind__export_functions, name, m->desc.num_sizes > 0);
    return IND_OK;
}

static ind_status ind__export_text(ind_context *c, const ind__text *t, const char *path, ind_status status) {
    if (!status) status = ind__text_status(t);
    return status ? status : ind__write_file(c, path, t->data, t->size);
}

/* Checks that the module is for export, and of the same graph as the first one. */
static ind_status ind__export_same(const ind_module *first, const ind_module *m) {
    ind_context *c = first->context;
    if (!m || m->desc.device == IND_DEVICE_CUDA || !m->desc.plan)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT,
                         "ind_export: a module that was compiled with emit_only for a target is needed");
    bool same = m->num_public == first->num_public && m->desc.num_sizes == first->desc.num_sizes &&
                m->desc.num_conditions == first->desc.num_conditions;
    for (uint32_t i = 0; i < m->num_public && same; i++)
        same = !strcmp(m->binding[i].name, first->binding[i].name) && m->binding[i].kind == first->binding[i].kind &&
               m->binding[i].dtype == first->binding[i].dtype;
    return same ? IND_OK : ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_export: the modules are not of one graph");
}

/* Compiles the module and the one that prepares its constants, and selects fallbacks. */
static ind_status ind__export_compile(ind_module *m) {
    ind_status status = ind_module_build_cubins(m);
    if (!status) status = ind__replace_spilling(m);
    if (!status && m->desc.prepare) status = ind__replace_spilling(m->desc.prepare);
    return status;
}

ind_status ind_export(const ind_export_desc *d) {
    if (!d || !d->modules || d->num_modules < 1 || !d->modules[0]) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = d->modules[0];
    ind_context *c = m->context;
    if (!ind__is_identifier(d->name) || !d->header || !d->source)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT,
                         "ind_export: a C identifier of less than 40 characters and two paths are needed");
    ind_status status = IND_OK;
    for (int i = 0; i < d->num_modules && !status; i++) status = ind__export_same(m, d->modules[i]);
    for (int i = 0; i < d->num_modules && !status; i++) status = ind__export_compile(d->modules[i]);
    ind__text header = {.context = c}, source = {.context = c};
    const ind__query q = ind__query_begin(m);
    if (!status) status = ind__export_source(&source, d);
    if (!status) ind__export_header(&header, m, d->name);
    status = ind__export_text(c, &header, d->header, status);
    status = ind__export_text(c, &source, d->source, status);
    status = ind__query_end(&q, status);
    ind__text_free(&header);
    ind__text_free(&source);
    return status;
}

/* ---- NAME.weights: "INDWGHT1", the key of the constants, the bytes that follow, and these */

static const ind_binding *ind__find_constant(const ind_binding *list, int num, const char *name) {
    for (int i = 0; i < num; i++)
        if (list[i].name && !strcmp(list[i].name, name)) return &list[i];
    return NULL;
}

static ind_status ind__fill_weights(ind_module *m, const ind_binding *constants, int num, unsigned char *to) {
    for (uint32_t i = 0; i < m->num_public; i++) {
        if (m->binding[i].kind != IND_BINDING_CONST) continue;
        const int64_t bytes = ind__constant_bytes(m, i);
        const ind_binding *b = ind__find_constant(constants, num, m->binding[i].name);
        if (bytes && (!b || !b->data || (b->bytes && b->bytes != (size_t)bytes)))
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                             "export of \"%s\": constant \"%s\" has %lld bytes, %zu are given", m->desc.name,
                             m->binding[i].name, (long long)bytes, b && b->data ? b->bytes : 0);
        if (bytes) memcpy(to, b->data, (size_t)bytes);
        to += ind__aligned(bytes, IND__WEIGHTS_ALIGNMENT);
    }
    return IND_OK;
}

ind_status ind_export_weights(ind_module *m, const ind_binding *constants, int num, const char *path) {
    if (!m || !path || (num && !constants)) return IND_ERROR_INVALID_ARGUMENT;
    uint64_t head[2];
    int64_t bytes;
    const ind__query q = ind__query_begin(m);
    ind_status status = ind__weights_layout(m, &bytes, &head[0]);
    head[1] = (uint64_t)bytes;
    unsigned char *data = status ? NULL : (unsigned char *)ind__alloc(m->context, (size_t)bytes + 24);
    if (!status && !data) status = IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        memcpy(data, "INDWGHT1", 8);
        memcpy(data + 8, head, 16);
        status = ind__fill_weights(m, constants, num, data + 24);
    }
    if (!status) status = ind__write_file(m->context, path, data, (size_t)bytes + 24);
    ind__free(m->context, data);
    return ind__query_end(&q, status);
}
