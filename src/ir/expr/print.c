/* ---- step two: writing */

static void ir__write_int(ind__text *t, int64_t v, const ir__expr_style *style) {
    bool c = ir__style_is_c(style), wide = style->form != IND_PRINT_CUDA32;
    if (c && v == INT64_MIN)
        ind__textf(t, "(-9223372036854775807ll - 1)");
    else if (c && !wide && v == INT32_MIN)
        ind__textf(t, "(-2147483647 - 1)");
    else
        ind__textf(t, "%lld%s", (long long)v, c && (wide || v > INT32_MAX || v < INT32_MIN) ? "ll" : "");
}

/* s0 as s_{0}, Batch as \mathit{Batch}. */
static void ir__write_latex_name(ind__text *t, const char *name) {
    size_t n = strlen(name), digits = 0;
    while (digits + 1 < n && name[n - digits - 1] >= '0' && name[n - digits - 1] <= '9') digits++;
    n -= digits;
    if (n > 1) ind__textf(t, "\\mathit{");
    for (size_t i = 0; i < n; i++) ind__textf(t, "%s%c", name[i] == '_' ? "\\" : "", name[i]);
    if (n > 1) ind__textf(t, "}");
    if (digits) ind__textf(t, "_{%s}", name + n);
}

static void ir__write_symbol(ind__text *t, ind_expr e, const ir__expr_style *style) {
    if (style->name)
        style->name(t, e, style->user);
    else if (style->form == IND_PRINT_LATEX)
        ir__write_latex_name(t, ind_expr_symbol(e)->name);
    else
        ind__textf(t, "%s", ind_expr_symbol(e)->name);
}

static void ir__write_form(ind__text *t, const ir__form *f, const ir__expr_style *style, int outer);

/* Writes operand i and the text before it. C has no minimum of more than two: ind_min(ind_min(a, b), c). */
static void ir__write_operand(ind__text *t, const ir__form *f, int i, const ir__expr_style *style) {
    const ir__op_format *row = ir__op_format_of(style, f);
    bool lattice = f->op == IND_EXPR_MIN || f->op == IND_EXPR_MAX, where = f->op == IND_EXPR_WHERE;
    const ir__form *a = f->arg[where && style->form == IND_PRINT_LATEX && i < 2 ? 1 - i : i]; /* value if condition */
    ir__form otherwise = {.op = IR__FORM_OTHERWISE};
    if (f->op == IND_EXPR_ADD && i && a->op == IR__FORM_NEG) {
        ind__textf(t, " - ");
        ir__write_form(t, a->arg[0], style, 6);
        return;
    }
    if (i) ind__textf(t, "%s", where && i == 2 ? ir__op_format_of(style, &otherwise)->between : row->between);
    ir__write_form(t, a, style, ir__operand_strength(row, f, i));
    if (lattice && i && i + 1 < f->num && ir__style_is_c(style)) ind__textf(t, "%s", row->close);
}

static void ir__write_form(ind__text *t, const ir__form *f, const ir__expr_style *style, int outer) {
    const ir__op_format *row = ir__op_format_of(style, f);
    bool parens = ir__strength(row, f) < outer, latex = style->form == IND_PRINT_LATEX;
    bool nested = (f->op == IND_EXPR_MIN || f->op == IND_EXPR_MAX) && ir__style_is_c(style);
    if (parens) ind__textf(t, latex ? "\\left(" : "(");
    if (f->op == IND_EXPR_INT) {
        ir__write_int(t, f->value, style);
    } else if (f->op == IND_EXPR_SYM) {
        ir__write_symbol(t, ir__expr_make(t->context, f->id), style);
    } else {
        for (int i = nested ? f->num - 1 : 1; i > 0; i--) ind__textf(t, "%s", row->open);
        for (int i = 0; i < f->num; i++) ir__write_operand(t, f, i, style);
        ind__textf(t, "%s", row->close);
    }
    if (parens) ind__textf(t, latex ? "\\right)" : ")");
}

/* The form to write; NULL with the reason set. */
static const ir__form *ir__form_checked(ir__former *w, ind_expr e) {
    ind_context *c = w->context;
    ind__state *s = ind__state_of(c);
    const ind_status before = s->status;
    const uint32_t refusals = s->refusals;
    const size_t length = strlen(s->text) + 1;
    char *text = (char *)ind__arena_copy(&w->arena, s->text, length);
    const ir__form *f = text ? ir__form_of(w, e) : NULL;
    if (s->refusals != refusals) return NULL; /* the text must not depend on memory */
    if (f && f->chars > IR__MAX_TEXT) {
        ind__fail(c, IND_ERROR_LIMIT, "the text of an expression is longer than %d characters", IR__MAX_TEXT);
        return NULL;
    }
    if (!w->refused) return f;
    s->status = before; /* failures of trial forms leave no trace */
    memcpy(s->text, text, length);
    return f;
}

/* Fast path for numbers and symbols, which are most of the text: they need no choice of form. */
static bool ir__text_leaf(ind__text *t, ind_expr e, const ir__expr_style *style) {
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind != IND_EXPR_INT && n->kind != IND_EXPR_SYM) return false;
    ir__form f = {.op = (uint8_t)n->kind, .fits = true, .id = e.id, .value = n->lo, .lo = n->lo, .hi = n->hi};
    ir__write_form(t, &f, style, 0);
    return true;
}

static void ir__text_styled(ind__text *t, ind_expr e, const ir__expr_style *style) {
    if (!ind__ok(e)) {
        ind__textf(t, "<invalid>");
        return;
    }
    if (ir__text_leaf(t, e, style)) return;
    ir__former w = {.context = e.context, .style = style, .arena = {.context = e.context}};
    w.limit = style->form == IND_PRINT_CUDA32 ? INT32_MAX : INT64_MAX - 1;
    const ir__form *f = ir__form_checked(&w, e);
    if (f)
        ir__write_form(t, f, style, 0);
    else
        t->failed = true;
    ind__free(e.context, w.memo);
    ind__arena_free(&w.arena);
}

void ind__text_expr(ind__text *t, ind_expr e) {
    ir__expr_style style = {.form = IND_PRINT_TEXT};
    ir__text_styled(t, e, &style);
}

void ind__text_expr_c(ind__text *t, ind_expr e, bool wide, ind__symbol_name_fn name, void *user) {
    ir__expr_style style = {wide ? IND_PRINT_CUDA64 : IND_PRINT_CUDA32, true, name, user};
    ir__text_styled(t, e, &style);
}

size_t ind_expr_print_as(ind_expr e, ind_print form, char *buffer, size_t size) {
    if (!buffer) size = 0;
    ind__text t = {.context = e.context};
    ir__expr_style style = {.form = form};
    if (ind__ok(e)) {
        ind__lock(e.context);
        ir__text_styled(&t, e, &style);
        ind__unlock(e.context);
    }
    const char *text = !ind__ok(e) ? "<invalid>" : !t.failed ? t.data : "<too long>";
    if (t.failed && ind_error_status(e.context) != IND_ERROR_LIMIT) text = "<no memory>";
    size_t length = strlen(text);
    if (size) {
        size_t kept = length < size ? length : size - 1;
        memcpy(buffer, text, kept);
        buffer[kept] = 0;
    }
    if (ind__ok(e)) ind__text_free(&t);
    return length;
}

size_t ind_expr_print(ind_expr e, char *buffer, size_t size) {
    return ind_expr_print_as(e, IND_PRINT_TEXT, buffer, size);
}
