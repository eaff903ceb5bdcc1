/* ---- patterns: matching. A goal is a name of the pattern and the tensor that it must stand for. Ops are matched from
   the root to the inputs; where an op is commutative or the pattern has a further root, the choices are tried one after
   another. Attributes, types and guards are checked last: if one fails, the match is a near miss with a reason. */

typedef struct pattern__goal {
    uint32_t name, tensor;
} pattern__goal;

typedef struct pattern__match {
    const ind_graph *g;
    const ind__pattern *pattern;
    const pattern__uses *uses;
    pattern__binding bound[IND__MAX_PATTERN_NAMES];
    uint32_t node[IND__MAX_PATTERN_STEPS];             /* 0: not matched yet */
    uint32_t trail[IND__MAX_PATTERN_NAMES], num_trail; /* bound names in order */
    pattern__goal goal[4 * IND__MAX_PATTERN_NAMES];
    uint32_t num_goals, next_goal;
    uint32_t attempts; /* choices tried */
    char why[200];     /* the first near miss */
} pattern__match;

#define PATTERN__MAX_ATTEMPTS 4096 /* choices per root: commutative ops and further roots are tried in turn */

static bool pattern__next(pattern__match *m);

static bool pattern__miss(pattern__match *m, const char *format, ...) IND__PRINTF(2, 3);
static bool pattern__miss(pattern__match *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!*m->why) vsnprintf(m->why, sizeof m->why, format, args);
    va_end(args);
    return false;
}

static pattern__binding *pattern__bind(pattern__match *m, uint32_t name) {
    m->trail[m->num_trail++] = name;
    m->bound[name].set = true;
    return &m->bound[name];
}

static void pattern__unbind(pattern__match *m, uint32_t to) {
    while (m->num_trail > to) {
        const uint32_t name = m->trail[--m->num_trail];
        const pattern__name *n = &m->pattern->names[name];
        for (uint32_t step = n->kind == PATTERN__TENSOR ? n->step : 0; step; step = m->pattern->step[step - 1].other)
            m->node[step - 1] = 0;
        memset(&m->bound[name], 0, sizeof m->bound[name]);
    }
}

/* ---- numbers */

/* True if every element of the tensor is this number, rounded to the tensor's type. */
static bool pattern__is_number(const ind_graph *g, uint32_t tensor, const ind__attr *number) {
    graph__typed_number x;
    if (!tensor || !graph__uniform_of(g, tensor, &x)) return false;
    const double want = graph__typed_number_value(graph__typed_number_of(number));
    const double have = graph__typed_number_value(x);
    return have == (ind_dtype_is_float(x.dtype) ? graph__round_to_dtype(x.dtype, want) : want);
}

/* ---- ops */

static bool pattern__goal_add(pattern__match *m, uint32_t name, uint32_t tensor) {
    if (m->num_goals == sizeof m->goal / sizeof *m->goal) return false;
    m->goal[m->num_goals++] = (pattern__goal){name, tensor};
    return true;
}

/* Makes goals of the operands of a step, in order or swapped. An operand that is absent on one side only fails. */
static bool pattern__goals_of(pattern__match *m, const pattern__step *s, const ind__node *n, bool swapped) {
    for (uint32_t k = 0; k < s->num_operands; k++) {
        const uint32_t tensor = n->operand[swapped ? 1 - k : k];
        if (!s->operand[k] && tensor) return false;
        if (s->operand[k] && !pattern__goal_add(m, s->operand[k] - 1, tensor)) return false;
    }
    return true;
}

/* Goes on with a step's operands in one order, then in the other; undoes what failed. */
static bool pattern__operands(pattern__match *m, const pattern__step *s, const ind__node *n) {
    const uint32_t goals = m->num_goals, next = m->next_goal, trail = m->num_trail;
    if (!s->commutative) return pattern__goals_of(m, s, n, false);
    for (int order = 0; order < 2 && m->attempts < PATTERN__MAX_ATTEMPTS; order++) {
        m->attempts++;
        if (pattern__goals_of(m, s, n, order == 1) && pattern__next(m)) return true;
        pattern__unbind(m, trail);
        m->num_goals = goals;
        m->next_goal = next;
    }
    return false;
}

static bool pattern__op_fits(const pattern__step *s, const ind__node *n) {
    if (s->op != n->op || s->num_operands != n->num_operands || s->num_results > n->num_results) return false;
    return !s->function || !strcmp(n->attr[0].s, s->function->name);
}

/* Lets a step stand for a node. *decided: the rest of the match was tried as well, with the result returned. */
static bool pattern__step_is(pattern__match *m, uint32_t step, uint32_t node, bool *decided) {
    const pattern__step *s = &m->pattern->step[step];
    const ind__node *n = &m->g->node[node];
    *decided = s->commutative;
    if (m->node[step] || !pattern__op_fits(s, n)) {
        *decided = false;
        return m->node[step] == node;
    }
    for (uint32_t other = 0; other < m->pattern->num_steps; other++)
        if (m->node[other] == node) return *decided = false; /* two steps are never one node */
    m->node[step] = node;
    for (uint32_t k = 0; k < s->num_results; k++) pattern__bind(m, s->first + k)->tensor = n->result + k;
    return pattern__operands(m, s, n);
}

/* Returns the node that a name is a result of; 0: none, an input or another name of a tensor. */
static uint32_t pattern__node_of(const ind__pattern *pattern, const uint32_t *node, uint32_t name) {
    const pattern__name *n = &pattern->names[name];
    for (uint32_t step = n->kind == PATTERN__TENSOR ? n->step : 0; step; step = pattern->step[step - 1].other)
        if (node[step - 1]) return node[step - 1];
    return 0;
}

/* ---- goals */

static bool pattern__input_is(pattern__match *m, uint32_t name, uint32_t tensor) {
    const pattern__name *n = &m->pattern->names[name];
    graph__typed_number x;
    if (n->kind == PATTERN__NUMBER) return pattern__is_number(m->g, tensor, &n->number);
    if (!tensor && !n->optional) return false;
    if (tensor && n->type.class_of == PATTERN__UNIFORM && !graph__uniform_of(m->g, tensor, &x)) return false;
    if (tensor && n->constant && (!m->uses->constant[tensor] || m->g->tensor[tensor].weak)) return false;
    if (tensor && n->varying && m->uses->constant[tensor]) return false;
    if (tensor && n->type.shaped && !n->type.rest && m->g->tensor[tensor].rank != n->type.rank) return false;
    pattern__bind(m, name)->tensor = tensor;
    return true;
}

/* Lets a tensor be the result of a step, or the tensor of which it is another name. */
static bool pattern__result_is(pattern__match *m, uint32_t step, uint32_t name, uint32_t tensor, bool *decided) {
    const pattern__step *s = &m->pattern->step[step];
    *decided = false;
    if (s->alias) {
        pattern__bind(m, name)->tensor = tensor;
        return pattern__goal_add(m, s->operand[0] - 1, tensor);
    }
    const uint32_t node = m->g->tensor[tensor].node;
    if (!tensor || tensor - m->g->node[node].result != m->pattern->names[name].result) return false;
    return pattern__step_is(m, step, node, decided);
}

/* Tries the alternatives of a name in order, each with the rest of the match. */
static bool pattern__alternatives(pattern__match *m, uint32_t name, uint32_t tensor) {
    const uint32_t goals = m->num_goals, next = m->next_goal, trail = m->num_trail;
    for (uint32_t step = m->pattern->names[name].step; step; step = m->pattern->step[step - 1].other) {
        bool decided;
        if (++m->attempts > PATTERN__MAX_ATTEMPTS) return false;
        if (pattern__result_is(m, step - 1, name, tensor, &decided) && (decided || pattern__next(m))) return true;
        pattern__unbind(m, trail);
        m->num_goals = goals;
        m->next_goal = next;
    }
    return false;
}

/* Matches one root that no goal reaches: a user of a tensor that is bound already. */
static bool pattern__further_root(pattern__match *m, uint32_t step) {
    const pattern__step *s = &m->pattern->step[step];
    const uint32_t goals = m->num_goals, next = m->next_goal, trail = m->num_trail;
    bool decided;
    for (uint32_t k = 0; k < s->num_operands; k++) {
        const uint32_t t = s->operand[k] && m->bound[s->operand[k] - 1].set ? m->bound[s->operand[k] - 1].tensor : 0;
        for (uint32_t u = t ? m->uses->first[t] : 0; t && u < m->uses->first[t + 1]; u++) {
            if (++m->attempts > PATTERN__MAX_ATTEMPTS) return false;
            if (pattern__step_is(m, step, m->uses->user[u], &decided) && (decided || pattern__next(m))) return true;
            pattern__unbind(m, trail);
            m->num_goals = goals;
            m->next_goal = next;
        }
        if (t) return false;
    }
    return false;
}

static bool pattern__all_checked(pattern__match *m);

/* Reaches the remaining goals, then the remaining steps, then checks the whole match. */
static bool pattern__next(pattern__match *m) {
    while (m->next_goal < m->num_goals) {
        const pattern__goal goal = m->goal[m->next_goal++];
        const pattern__name *n = &m->pattern->names[goal.name];
        bool decided = false;
        if (m->bound[goal.name].set) {
            if (m->bound[goal.name].tensor != goal.tensor) return false;
        } else if (!n->step) {
            if (!pattern__input_is(m, goal.name, goal.tensor)) return false;
        } else if (m->pattern->step[n->step - 1].other) {
            return pattern__alternatives(m, goal.name, goal.tensor);
        } else {
            if (!pattern__result_is(m, n->step - 1, goal.name, goal.tensor, &decided)) return false;
            if (decided) return true;
        }
    }
    for (uint32_t step = 0; step < m->pattern->num_steps; step++) {
        const pattern__step *s = &m->pattern->step[step];
        bool reached = false;
        for (uint32_t k = 0; k < s->num_operands; k++)
            reached = reached || (s->operand[k] && m->bound[s->operand[k] - 1].set);
        if (s->root && reached && !pattern__node_of(m->pattern, m->node, s->first))
            return pattern__further_root(m, step);
    }
    return pattern__all_checked(m);
}

/* ---- sizes */

static ind_expr pattern__bound_size(ind__parser *p, const char *name, size_t length) {
    pattern__match *m = p->scope->user;
    const uint32_t n = pattern__find(m->pattern, name, length);
    ind_expr none = {p->g->context, 0};
    return n != IND__PATTERN_NO_NAME && m->bound[n].set ? m->bound[n].size : none;
}

/* Evaluates a size expression of the pattern's text with the sizes bound so far. */
static ind_expr pattern__size_at(pattern__match *m, uint32_t at) {
    ind__parse_scope scope = {.size = pattern__bound_size, .user = m};
    ind__parser p = {.g = (ind_graph *)m->g, .text = m->pattern->text, .at = m->pattern->text + at, .scope = &scope};
    ind_expr e = {m->g->context, 0};
    return ind__need_expr(&p, &e) ? e : (ind_expr){m->g->context, 0};
}

/* Binds a size or compares it with its expression. */
static bool pattern__size_is(pattern__match *m, const pattern__size *s, ind_expr have) {
    if (s->name != IND__PATTERN_NO_NAME && !m->bound[s->name].set) {
        pattern__bind(m, s->name)->size = have;
        return true;
    }
    const ind_expr want = s->name != IND__PATTERN_NO_NAME ? m->bound[s->name].size : pattern__size_at(m, s->at);
    return ind__ok(want) && ind_known_eq(want, have);
}

/* ---- types */

static bool pattern__class_is(pattern__match *m, const pattern__type *t, const ind__tensor_info *x) {
    switch (t->class_of) {
    case PATTERN__FLOAT: return !x->weak && ind_dtype_is_float(x->dtype);
    case PATTERN__INTEGER: return !x->weak && ind_dtype_is_integer(x->dtype);
    case PATTERN__FIXED: return !x->weak && x->dtype == t->dtype;
    case PATTERN__NAMED:
        if (x->weak || (m->bound[t->name].set && m->bound[t->name].dtype != x->dtype)) return false;
        if (!m->bound[t->name].set) pattern__bind(m, t->name)->dtype = x->dtype;
        return true;
    default: return true;
    }
}

static bool pattern__shape_is(pattern__match *m, const pattern__type *t, const ind__tensor_info *x) {
    const int lead = x->rank - t->rank;
    if (!t->shaped) return true;
    if (x->weak || lead < 0 || (lead > 0 && !t->rest)) return false;
    for (int d = 0; d < t->rank; d++)
        if (!pattern__size_is(m, &t->size[d], x->size[lead + d])) return false;
    return true;
}

static uint32_t pattern__num_ops(const pattern__match *m) {
    uint32_t num = 0;
    for (uint32_t s = 0; s < m->pattern->num_steps; s++) num += m->node[s] != 0;
    return num;
}

/* One op with operands of other types is no near miss. */
static bool pattern__types_fit(pattern__match *m) {
    char type[160];
    for (uint32_t k = 0; k < m->pattern->num_names; k++) {
        const pattern__name *n = &m->pattern->names[k];
        const uint32_t tensor = m->bound[k].tensor;
        if (n->kind != PATTERN__TENSOR || !tensor) continue;
        const ind__tensor_info *x = &m->g->tensor[tensor];
        if (pattern__class_is(m, &n->type, x) && pattern__shape_is(m, &n->type, x)) continue;
        if (pattern__num_ops(m) == 1) return false;
        ind__print_type(type, sizeof type, x->dtype, x->size, x->rank);
        return pattern__miss(m, "%s is %s%s, which the pattern does not take", n->name, x->weak ? "a number, " : "",
                             type);
    }
    return true;
}

/* ---- attributes */

/* Returns a dimension counted from the front; only attributes named dim.. are dimensions. */
static ind_expr pattern__counted(const pattern__match *m, const ind__node *n, const ind__attr_schema *s, ind_expr e) {
    int64_t v;
    if (s->length < 3 || memcmp(s->name, "dim", 3) != 0 || !ind_expr_is_int(e, &v) || v >= 0) return e;
    const bool adds = n->op == IND_OP_UNSQUEEZE || n->op == IND_OP_STACK;
    const uint32_t x = adds || !n->num_operands ? n->result : n->operand[0];
    return ind_int(m->g->context, v + m->g->tensor[x].rank);
}

static bool pattern__same_value(const ind__attr *a, const ind__attr *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case IND__ATTR_NONE: return true;
    case IND__ATTR_FLOAT: return a->f == b->f;
    case IND__ATTR_SCALAR:
        return graph__typed_number_value(graph__typed_number_of(a)) ==
               graph__typed_number_value(graph__typed_number_of(b));
    case IND__ATTR_STR: return a->s && b->s && !strcmp(a->s, b->s);
    case IND__ATTR_FLOATS:
        return a->count == b->count && (!a->count || !memcmp(a->floats, b->floats, (size_t)a->count * sizeof(double)));
    case IND__ATTR_INTS:
    case IND__ATTR_SIZES:
    case IND__ATTR_EXPRS: return !a->count && !b->count;
    case IND__ATTR_SIZE: {
        int64_t x, y;
        return ind_expr_is_int(a->e, &x) && ind_expr_is_int(b->e, &y) && x == y;
    }
    default: return a->i == b->i;
    }
}

/* Returns an integer or size of an attribute; a dimension counted from the front. */
static ind_expr pattern__size_of(const pattern__match *m, const ind__node *n, const ind__attr_schema *s,
                                 const ind__attr *have) {
    const ind_expr e = have->kind == IND__ATTR_SIZE ? have->e : ind_int(m->g->context, have->i);
    return pattern__counted(m, n, s, e);
}

static bool pattern__bind_attr(pattern__match *m, uint32_t name, const ind__node *n, const ind__attr_schema *s,
                               const ind__attr *have) {
    pattern__binding *b = &m->bound[name];
    const bool set = b->set;
    if (!set) b = pattern__bind(m, name);
    if (m->pattern->names[name].kind == PATTERN__SIZE) {
        const ind_expr e = pattern__size_of(m, n, s, have);
        if (set) return ind_known_eq(b->size, e);
        b->size = e;
        return have->kind == s->kind;
    }
    if (m->pattern->names[name].kind == PATTERN__DTYPE) {
        if (set) return have->kind == IND__ATTR_DTYPE && b->dtype == (ind_dtype)have->i;
        b->dtype = (ind_dtype)have->i;
        return have->kind == IND__ATTR_DTYPE;
    }
    if (set) return graph__attr_equal(b->attr, have);
    b->attr = have;
    return true;
}

/* Compares an integer, a size, or a list of them. */
static bool pattern__sizes_are(pattern__match *m, const pattern__attr *a, const ind__node *n, const ind__attr_schema *s,
                               const ind__attr *have) {
    const bool list = s->kind == IND__ATTR_INTS || s->kind == IND__ATTR_SIZES;
    if (have->kind == IND__ATTR_NONE || (list && have->kind != s->kind)) return false;
    if (list && have->count != a->count) return false;
    for (int k = 0; k < a->count; k++) {
        const pattern__size *want = &a->size[k];
        const ind_expr e = list ? pattern__counted(m, n, s, have->list[k]) : pattern__size_of(m, n, s, have);
        if (want->name != IND__PATTERN_NO_NAME) {
            if (!pattern__size_is(m, want, e)) return false;
            continue;
        }
        const ind_expr value = pattern__size_at(m, want->at);
        if (!ind__ok(value)) return false;
        if (!ind_known_eq(pattern__counted(m, n, s, value), e)) return false;
    }
    return true;
}

static bool pattern__attr_fits(pattern__match *m, const pattern__attr *a, const ind__node *n, const ind__attr_schema *s,
                               const ind__attr *have) {
    switch (a->form) {
    case PATTERN__DEFAULT: return pattern__same_value(have, &s->value);
    case PATTERN__VALUE: return pattern__same_value(have, &a->value);
    case PATTERN__BOUND: return pattern__bind_attr(m, a->name, n, s, have);
    default: return pattern__sizes_are(m, a, n, s, have);
    }
}

static bool pattern__attrs_fit(pattern__match *m) {
    for (uint32_t step = 0; step < m->pattern->num_steps; step++) {
        const pattern__step *s = &m->pattern->step[step];
        const ind__node *n = &m->g->node[m->node[step]];
        if (!m->node[step]) continue;
        const ind__schema *schema = &m->g->schema[s->op];
        for (uint32_t i = 0; i < s->num_attrs && !s->function; i++) {
            const ind__attr_schema *a = &schema->attr[i];
            if (!pattern__attr_fits(m, &s->attr[i], n, a, &n->attr[i]))
                return pattern__miss(m, "%.*s of %s has another value than in the pattern", a->length, a->name,
                                     m->g->tensor[n->result].name);
        }
    }
    return true;
}

/* ---- the whole match */

static bool pattern__guards_hold(pattern__match *m) {
    for (uint32_t i = 0; i < m->pattern->num_guards; i++) {
        const char *text = m->pattern->text + m->pattern->guard[i];
        const ind_expr e = pattern__size_at(m, m->pattern->guard[i]);
        if (!ind__ok(e) || !ind_known_true(e))
            return pattern__miss(m, "guard %.*s is not proven", (int)strcspn(text, "\n#}"), text);
    }
    return true;
}

static bool pattern__conditions_hold(pattern__match *m) {
    for (uint32_t i = 0; i < m->pattern->num_conditions; i++) {
        const pattern__condition *c = &m->pattern->condition[i];
        if (!pattern__condition_holds(m->g, m->uses->constant, c, m->bound))
            return pattern__miss(m, "%s(%s%s%s) does not hold", pattern__tests[c->test].name,
                                 m->pattern->names[c->name[0]].name, c->name[0] == c->name[1] ? "" : ", ",
                                 c->name[0] == c->name[1] ? "" : m->pattern->names[c->name[1]].name);
    }
    return true;
}

/* Returns whether every user of a tensor is part of the match. */
static bool pattern__used_inside(pattern__match *m, uint32_t t) {
    if (m->uses->kept[t]) return pattern__miss(m, "%s is an output of the graph", m->g->tensor[t].name);
    for (uint32_t u = m->uses->first[t]; u < m->uses->first[t + 1]; u++) {
        bool inside = false;
        for (uint32_t s = 0; s < m->pattern->num_steps; s++) inside = inside || m->node[s] == m->uses->user[u];
        if (inside) continue;
        const ind__node *user = &m->g->node[m->uses->user[u]];
        return pattern__miss(m, "%s is also read by %s", m->g->tensor[t].name, m->g->tensor[user->result].name);
    }
    return true;
}

/* Results that the pattern does not name disappear, too. */
static bool pattern__unnamed_unused(pattern__match *m) {
    for (uint32_t s = 0; s < m->pattern->num_steps; s++) {
        const ind__node *n = &m->g->node[m->node[s]];
        for (uint32_t k = m->pattern->step[s].num_results; m->node[s] && k < n->num_results; k++)
            if (!pattern__used_inside(m, n->result + k)) return false;
    }
    return true;
}

/* Other users of a result that disappears would have to compute it again. */
static bool pattern__no_other_users(pattern__match *m) {
    for (uint32_t k = 0; k < m->pattern->num_names; k++) {
        const pattern__name *n = &m->pattern->names[k];
        const uint32_t t = m->bound[k].tensor;
        if (n->kind != PATTERN__TENSOR || n->output || n->shared || !pattern__node_of(m->pattern, m->node, k)) continue;
        if (!pattern__used_inside(m, t)) return false;
    }
    return pattern__unnamed_unused(m);
}

static bool pattern__none_taken(pattern__match *m) {
    for (uint32_t s = 0; s < m->pattern->num_steps; s++)
        if (m->node[s] && m->uses->taken[m->node[s]]) return false;
    return true;
}

static bool pattern__all_checked(pattern__match *m) {
    const uint32_t trail = m->num_trail;
    for (uint32_t s = 0; s < m->pattern->num_steps; s++)
        if (m->pattern->step[s].root && !pattern__node_of(m->pattern, m->node, m->pattern->step[s].first)) return false;
    if (pattern__none_taken(m) && pattern__types_fit(m) && pattern__attrs_fit(m) && pattern__guards_hold(m) &&
        pattern__conditions_hold(m) && pattern__no_other_users(m))
        return true;
    pattern__unbind(m, trail);
    return false;
}

/* Matches a pattern whose root is this node: the first alternative of the root that fits. On failure `why` has the
   reason if it was a near miss. */
static bool pattern__matches(pattern__match *m, uint32_t node) {
    bool decided;
    m->attempts = 0;
    m->why[0] = 0;
    for (uint32_t step = m->pattern->root + 1; step; step = m->pattern->step[step - 1].other) {
        m->num_goals = m->next_goal = 0;
        if (pattern__step_is(m, step - 1, node, &decided) && (decided || pattern__next(m))) return true;
        pattern__unbind(m, 0);
    }
    return false;
}
