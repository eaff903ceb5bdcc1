/* ---- user functions ---- */

/* The list is only prepended to and its entries never change, so only the head is read under the lock. */
static const ind__function *ir__functions_of(const ind_context *c) {
    ind__lists_lock(c->root);
    const ind__function *newest = c->root->functions;
    ind__lists_unlock(c->root);
    return newest;
}

const ind__function *ind__function_find(const ind_context *c, const char *name) {
    const ind__function *f = ir__functions_of(c);
    while (f && !(f->registered && !strcmp(f->name, name))) f = f->next;
    return f;
}

typedef struct ir__signature {
    ind_context *context;
    const char *text, *at;
    char name[1 + IND_MAX_FUNCTION_ARGS][64]; /* of the function, then of its arguments */
    ind_dtype dtype[1 + IND_MAX_FUNCTION_ARGS];
    int num_args;
} ir__signature;

static ind_status ir__signature_expects(const ir__signature *s, const char *what) {
    return ind__fail(s->context, IND_ERROR_PARSE,
                     "function: \"%.200s\": column %d: expected %s; it is written as \"swish(x: f32) -> f32\"", s->text,
                     (int)(s->at - s->text) + 1, what);
}

static size_t ir__word_length(const char *s) {
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           (n && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n;
}

static bool ir__signature_take(ir__signature *s, const char *token) {
    while (*s->at == ' ') s->at++;
    size_t n = strlen(token);
    bool is = !strncmp(s->at, token, n);
    if (is) s->at += n;
    while (is && *s->at == ' ') s->at++;
    return is;
}

static ind_status ir__signature_name(ir__signature *s, int which) {
    size_t n = ir__word_length(s->at);
    if (n == 0 || n >= sizeof s->name[0]) return ir__signature_expects(s, "a name of at most 63 letters, digits and _");
    memcpy(s->name[which], s->at, n);
    for (int k = 1; k < which; k++)
        if (!strcmp(s->name[k], s->name[which])) return ir__signature_expects(s, "a name that is not taken");
    s->at += n;
    return IND_OK;
}

static ind_status ir__signature_dtype(ir__signature *s, int which) {
    size_t n = ir__word_length(s->at);
    s->dtype[which] = ind_dtype_parse(s->at, n);
    if (s->dtype[which] == IND_DTYPE_NONE) return ir__signature_expects(s, "an element type");
    s->at += n;
    return IND_OK;
}

/* signature = name "(" [ name ":" dtype { "," name ":" dtype } ] ")" "->" dtype */
static ind_status ir__signature_parse(ir__signature *s) {
    ir__signature_take(s, "");
    if (ir__signature_name(s, 0)) return IND_ERROR_PARSE;
    if (!ir__signature_take(s, "(")) return ir__signature_expects(s, "\"(\"");
    while (!ir__signature_take(s, ")")) {
        int k = s->num_args + 1;
        if (s->num_args && !ir__signature_take(s, ",")) return ir__signature_expects(s, "\",\" or \")\"");
        if (k > IND_MAX_FUNCTION_ARGS)
            return ind__fail(s->context, IND_ERROR_LIMIT, "function %s: at most %d arguments are possible", s->name[0],
                             IND_MAX_FUNCTION_ARGS);
        if (ir__signature_name(s, k)) return IND_ERROR_PARSE;
        if (!ir__signature_take(s, ":")) return ir__signature_expects(s, "\":\"");
        if (ir__signature_dtype(s, k)) return IND_ERROR_PARSE;
        s->num_args++;
    }
    if (!ir__signature_take(s, "->")) return ir__signature_expects(s, "\"->\"");
    if (ir__signature_dtype(s, 0)) return IND_ERROR_PARSE;
    ir__signature_take(s, "");
    return *s->at ? ir__signature_expects(s, "the end") : IND_OK;
}

static bool ir__same_signature(const ind__function *f, const ir__signature *s) {
    bool same = !strcmp(f->name, s->name[0]) && f->num_args == s->num_args && f->dtype == s->dtype[0];
    for (int k = 0; same && k < f->num_args; k++)
        same = !strcmp(f->arg[k], s->name[k + 1]) && f->arg_dtype[k] == s->dtype[k + 1];
    return same;
}

static bool ir__same_code(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

static const ind__function *ir__function_make(ir__signature *s, const char *cuda, ind_function_fn host, void *user,
                                              bool registered) {
    ind_context *root = s->context->root;
    ind__arena *names = &root->names;
    ind__lists_lock(root);
    ind__function *f = (ind__function *)ind__arena_alloc(names, sizeof *f);
    if (f)
        *f = (ind__function){.next = root->functions,
                             .dtype = s->dtype[0],
                             .num_args = s->num_args,
                             .host = host,
                             .user = user,
                             .registered = registered};
    bool ok = f && (f->name = ind__arena_string(names, s->name[0], strlen(s->name[0]))) != NULL;
    if (cuda) ok = ok && (f->cuda = ind__arena_string(names, cuda, strlen(cuda))) != NULL;
    for (int k = 0; ok && k < f->num_args; k++) {
        f->arg_dtype[k] = s->dtype[k + 1];
        ok = (f->arg[k] = ind__arena_string(names, s->name[k + 1], strlen(s->name[k + 1]))) != NULL;
    }
    if (ok) root->functions = f;
    ind__lists_unlock(root);
    return ok ? f : NULL;
}

ind_status ind_function_register(ind_context *context, const ind_function_desc *desc) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc || !desc->signature || (!desc->cuda && !desc->host))
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT,
                         "function: the signature, or both of cuda and host, are NULL");
    if (desc->cuda && !desc->cuda[strspn(desc->cuda, " \t\n")])
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "function: \"%.100s\" has an empty text",
                         desc->signature);
    ir__signature s = {.context = context, .text = desc->signature, .at = desc->signature};
    ind_status status = ir__signature_parse(&s);
    if (status) return status;
    const ind__function *old = ind__function_find(context, s.name[0]);
    if (!old) return ir__function_make(&s, desc->cuda, desc->host, desc->user, true) ? IND_OK : ind__failed(context);
    bool same = ir__same_signature(old, &s) && ir__same_code(old->cuda, desc->cuda) && old->host == desc->host &&
                old->user == desc->user;
    return same ? IND_OK
                : ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "function: another function is registered as %s",
                            s.name[0]);
}

/* ---- sources of functions that come from a text: no directive, pragma or assembly, as these name files

   A source is refused by its characters alone, before it is compiled. The rules refuse more than the language requires:
   text that only looks like a directive, as in a comment of several lines, is refused too. They hold for compilers with
   and without trigraphs, and for every convention of line ends. */

/* The first character after s that is not part of a line continuation: a backslash or its trigraph, blanks, end of
   line. */
static const char *ir__code_continued(const char *s) {
    for (;;) {
        const char *t = *s == '\\' ? s + 1 : !strncmp(s, "?\?/", 3) ? s + 3 : s;
        if (t == s) return s;
        t += strspn(t, " \t\v\f");
        if (*t != '\n' && *t != '\r') return s;
        s = t + (t[0] == '\r' && t[1] == '\n' ? 2 : 1);
    }
}

/* True for #, its trigraph or its digraph. */
static bool ir__code_is_hash(const char *s) {
    return *s == '#' || !strncmp(s, "?\?=", 3) || (*s == '%' && *ir__code_continued(s + 1) == ':');
}

/* True if all before `at` on its line may be blank or the end of a comment. The slash that ends a comment may start the
   line. Characters that are not ASCII count as blank. */
static bool ir__code_begins_line(const char *code, const char *at) {
    while (at > code && at[-1] != '\n' && at[-1] != '\r' &&
           ((unsigned char)at[-1] <= ' ' || (unsigned char)at[-1] >= 127))
        at--;
    const bool slash = at > code && at[-1] == '/';
    at -= slash;
    return at == code || at[-1] == '\n' || at[-1] == '\r' || (slash && at[-1] == '*');
}

static bool ir__code_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* True if this word starts at s; line continuations may split it. */
static bool ir__code_is_word(const char *code, const char *s, const char *word) {
    if (s > code && ir__code_is_letter(s[-1])) return false;
    for (; *word; word++, s = ir__code_continued(s + 1))
        if (*s != *word) return false;
    return !ir__code_is_letter(*s);
}

/* The forbidden construct that the source contains, with its line in *line; NULL: none. */
static const char *ir__code_forbidden(const char *code, int *line) {
    static const char *const words[] = {"_Pragma", "__pragma", "asm", "__asm", "__asm__"};
    *line = 1;
    for (const char *s = code; *s; *line += *s++ == '\n') {
        if (ir__code_is_hash(s) && ir__code_begins_line(code, s)) return "a preprocessor directive";
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (ir__code_is_word(code, s, words[i])) return words[i];
    }
    return NULL;
}

const ind__function *ind__function_declare(ind_context *c, const char *signature, const char *cuda) {
    ir__signature s = {.context = c, .text = signature, .at = signature};
    if (ir__signature_parse(&s)) return NULL;
    const ind__function *twin = ind__function_find(c, s.name[0]);
    if (twin && (!ir__same_signature(twin, &s) || (twin->cuda && strcmp(twin->cuda, cuda)))) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "function: %s is registered with another %s", s.name[0],
                  ir__same_signature(twin, &s) ? "text" : "signature");
        return NULL;
    }
    if (twin && twin->cuda) return twin; /* registered by the program with the same source */
    int line;
    const char *forbidden = c->desc.trust_texts ? NULL : ir__code_forbidden(cuda, &line);
    if (forbidden) {
        ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                  "function %s: line %d of its source has %s, which texts may not have unless the context trusts them "
                  "(ind_context_desc.trust_texts)",
                  s.name[0], line, forbidden);
        return NULL;
    }
    ind_function_fn host = twin ? twin->host : NULL;
    for (const ind__function *f = ir__functions_of(c); f; f = f->next)
        if (ir__same_signature(f, &s) && ir__same_code(f->cuda, cuda) && f->host == host) return f;
    return ir__function_make(&s, cuda, host, twin ? twin->user : NULL, false);
}

bool ind__function_takes(ind_dtype argument, ind_dtype given) {
    return ind_dtype_promote(argument, given) == argument;
}

ind_value ind__emit_call(ind_ops *o, const ind__function *f, const ind_value *args) {
    ind__inst i = {.op = IND_LOOP_CALL, .dtype = (uint8_t)ind_dtype_compute(f->dtype)};
    for (int k = 0; k < f->num_args; k++) {
        ind_value x = ind_op_cast(o, args[k], ind_dtype_compute(f->arg_dtype[k]));
        if (!x.id) return ir__no_value;
        i.arg[k] = x.id;
    }
    i.imm.i = 0;
    i.imm.function = f;
    return o->emit(o, &i, NULL);
}

const ind__extern *ind__extern_find(const ind_context *c, const char *name) {
    ind__lists_lock(c->root);
    const ind__extern *e = c->root->externs;
    ind__lists_unlock(c->root);
    while (e && strcmp(e->desc.name, name)) e = e->next;
    return e;
}

ind_status ind_extern_register(ind_context *context, const ind_extern_desc *desc) {
    return ind__extern_register(context, desc, false);
}

ind_status ind__extern_register(ind_context *context, const ind_extern_desc *desc, bool product) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc || !desc->name || !*desc->name || (!desc->host && !desc->cuda && !desc->shape))
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "extern: the name or all functions are NULL");
    size_t n = strspn(desc->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (desc->name[n] || n > 63)
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT,
                         "extern: \"%.80s\" is not a name; at most 63 letters, digits, _ and . are allowed",
                         desc->name);
    const ind__extern *old = ind__extern_find(context, desc->name);
    if (old) {
        const ind_extern_desc *d = &old->desc;
        bool same = d->host == desc->host && d->cuda == desc->cuda && d->shape == desc->shape &&
                    d->user == desc->user && d->strided == desc->strided;
        return same ? IND_OK
                    : ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "extern: another extern call is registered as %s",
                                desc->name);
    }
    ind__lists_lock(context);
    ind__extern *e = (ind__extern *)ind__arena_alloc(&context->names, sizeof *e);
    const char *name = e ? ind__arena_string(&context->names, desc->name, n) : NULL;
    if (name) {
        e->desc = *desc;
        e->desc.name = name;
        e->product = product;
        e->next = context->externs;
        context->externs = e;
    }
    ind__lists_unlock(context);
    return name ? IND_OK : ind__failed(context);
}

ind_value ind_op_call(ind_ops *o, const char *function, const ind_value *args, int num_args) {
    if (!o) return ir__no_value;
    const ind__function *f = function ? ind__function_find(o->context, function) : NULL;
    if (!f || !f->cuda) {
        ind__fail(o->context, IND_ERROR_NOT_FOUND, "call: no function %.63s is registered",
                  function ? function : "NULL");
        return ir__no_value;
    }
    if (num_args != f->num_args || (num_args && !args))
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "another number of arguments is declared", IND_LOOP_CALL);
    for (int k = 0; k < num_args; k++) {
        if (!args[k].id) return ir__no_value;
        if (!ind__function_takes(f->arg_dtype[k], o->dtype(o, args[k])) &&
            o->dtype(o, args[k]) != ind_dtype_compute(f->arg_dtype[k]))
            return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "an argument does not promote to its declared type",
                               IND_LOOP_CALL);
    }
    return ind__emit_call(o, f, args);
}

void ind__function_print_signature(ind__text *t, const ind__function *f) {
    ind__textf(t, "%s(", f->name);
    for (int k = 0; k < f->num_args; k++)
        ind__textf(t, "%s%s: %s", k ? ", " : "", f->arg[k], ind_dtype_name(f->arg_dtype[k]));
    ind__textf(t, ") -> %s", ind_dtype_name(f->dtype));
}

ind_status ind__call_needs(ind_context *c, const ind__extern_call *call, ind_device device) {
    if (!call->op)
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED, "%s: this extern call is not registered (ind_extern_register)",
                         call->name);
    bool host = device == IND_DEVICE_HOST;
    if (host ? call->op->desc.host != NULL : call->op->desc.cuda != NULL) return IND_OK;
    return ind__fail(c, IND_ERROR_NOT_SUPPORTED, "%s: this extern call has no %s callback (ind_extern_register)",
                     call->name, host ? "host" : "cuda");
}

ind_status ind__body_needs_host(const ind_body *b) {
    if (b->call) return ind__call_needs(b->context, b->call, IND_DEVICE_HOST);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (x->op == IND_LOOP_CALL && !x->imm.function->host)
            return ind__fail(b->context, IND_ERROR_NOT_SUPPORTED,
                             "%s: the host device needs a host twin of this function (ind_function_register)",
                             x->imm.function->name);
    }
    return IND_OK;
}

ind_value ind__emit_load(ind_ops *o, uint32_t source, ind_dtype memory_dtype, const ind_expr *index, int rank) {
    for (int k = 0; k < rank; k++)
        if (!ind__ok(index[k])) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_LOAD, .dtype = (uint8_t)ind_dtype_compute(memory_dtype), .arg = {o->mask.id}};
    i.source = source;
    i.num_index = (uint32_t)rank;
    return o->emit(o, &i, index);
}

void ind__emit_store(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v) {
    if (!v.id) return;
    ind__inst i = {.op = IND_LOOP_STORE, .dtype = (uint8_t)o->dtype(o, v), .arg = {v.id}};
    i.source = source;
    i.num_index = (uint32_t)rank;
    o->emit(o, &i, index);
}

bool ind__can_scatter(ind_reduction mode) {
    return mode == IND_REDUCE_NONE || mode == IND_REDUCE_SUM || mode == IND_REDUCE_PROD || mode == IND_REDUCE_MAX ||
           mode == IND_REDUCE_MIN;
}

void ind__emit_scatter(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v, ind_value mask,
                       ind_reduction mode) {
    for (int k = 0; k < rank; k++)
        if (!ind__ok(index[k])) return;
    if (!v.id) return;
    if (o->capture) {
        *o->capture = (ind__capture){.checked = o->capture->checked, .set = true, .value = v, .mask = mask};
        for (int k = 0; k < rank; k++) o->capture->index[k] = index[k];
        return;
    }
    ind__inst i = {
        .op = IND_LOOP_STORE, .dtype = (uint8_t)o->dtype(o, v), .reduction = (uint8_t)mode, .flags = IND__INST_SCATTER};
    if (o->seldom) i.flags |= IND__INST_SELDOM;
    i.arg[0] = v.id;
    i.arg[1] = mask.id;
    i.source = source;
    i.num_index = (uint32_t)rank;
    o->emit(o, &i, index);
}

ind_value ind__emit_reduce(ind_ops *o, ind_reduction r, ind_value a, ind_value b, int flags) {
    if (!a.id || (r == IND_REDUCE_DOT && !b.id)) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_REDUCE, .reduction = (uint8_t)r, .arg = {a.id, r == IND_REDUCE_DOT ? b.id : 0}};
    i.dtype = (uint8_t)(r == IND_REDUCE_ARGMAX ? IND_I64 : o->dtype(o, a));
    i.flags = (uint8_t)flags;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_part(ind_ops *o, ind_value reduce, int which) {
    if (!reduce.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PART, .dtype = (uint8_t)o->dtype(o, reduce), .arg = {reduce.id}};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_scan(ind_ops *o, ind_scan kind, ind_value a) {
    if (!a.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_SCAN, .reduction = (uint8_t)kind, .dtype = (uint8_t)o->dtype(o, a), .arg = {a.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_scan_part(ind_ops *o, ind_value scan, int which) {
    if (!scan.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PART, .dtype = (uint8_t)(which ? IND_I64 : o->dtype(o, scan)), .arg = {scan.id}};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_state(ind_ops *o, ind_dtype dtype, int which) {
    ind__inst i = {.op = IND_LOOP_STATE, .dtype = (uint8_t)dtype};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_combine_scan(ind_ops *o, const ind_value *element, const ind_value *combined, int n,
                                 bool exclusive) {
    ind_value pair = {0};
    for (int k = n; k-- > 0;) {
        if (!element[k].id || !combined[k].id) return ir__no_value;
        ind__inst i = {.op = IND_LOOP_PAIR, .dtype = (uint8_t)o->dtype(o, element[k])};
        i.arg[0] = element[k].id;
        i.arg[1] = combined[k].id;
        i.arg[2] = pair.id;
        pair = o->emit(o, &i, NULL);
        if (!pair.id) return pair;
    }
    ind__inst i = {.op = IND_LOOP_SCAN, .reduction = IND_SCAN_COMBINE, .dtype = (uint8_t)o->dtype(o, element[0])};
    i.flags = exclusive ? IND__INST_EXCLUSIVE : 0;
    i.arg[0] = pair.id;
    return o->emit(o, &i, NULL);
}

/* True if the index was computed from loop indices and is proven to be in range: it needs no memory and no check. */
static bool ir__known_index(const ind__recorder *r, ind_value x, ind_expr size, ind_expr *e) {
    int terms = IR__MAX_TERMS;
    *e = ir__as_index(r->body, x.id, &terms);
    return ind__ok(*e) && ir__in_range(*e, size);
}

ind_expr ind_op_indirect(ind_ops *o, ind_value x, ind_expr size, bool wrap) {
    if (!o || !x.id || !ind__ok(size)) return ir__expr_none(o ? o->context : size.context);
    ind_dtype d = o->dtype(o, x);
    ind_expr e;
    if (!ind_dtype_is_integer(d)) {
        ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "an index must be an integer", IND_LOOP_INDIRECT);
        return ir__expr_none(o->context);
    }
    if (o->emit == ir__recorder_emit && ir__known_index((ind__recorder *)o, x, size, &e)) return e;
    x = ind_op_cast(o, x, IND_I64);
    if (o->mask.id) /* a lane that reads nothing must not fail the check */
        x = ind_op_where(o, o->mask, x, ind_op_constant_int(o, 0, IND_I64));
    if (!x.id) return ir__expr_none(o->context);
    ind__inst i = {.op = IND_LOOP_INDIRECT, .dtype = IND_I64, .flags = wrap ? IND__INST_WRAP : 0, .arg = {x.id}};
    if (o->checked) i.flags |= IND__INST_CHECKED;
    i.source = o->group_ends;
    i.num_index = 2;
    ind_expr index[2] = {size, size};
    ind_value v = o->emit(o, &i, index);
    return v.id ? o->indirect_symbol(o, v) : ir__expr_none(o->context);
}

ind_value ind_op_masked(ind_ops *o, ind_value mask, ind_loop_fn fn, const ind_expr *index, int rank, void *user,
                        double other) {
    if (!o || !mask.id || !fn) return ir__no_value;
    ind_value outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_value v = fn(o, index, rank, user);
    o->mask = outer;
    return ind_op_where(o, mask, v, ind_op_constant(o, other, ind_op_dtype(o, v)));
}
