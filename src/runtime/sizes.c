/* ------------------------------------------------------------------------------------------------- >>sizes */

static void rt__print_bound(char out[24], int64_t v) {
    if (v == INT64_MAX || v == INT64_MIN)
        snprintf(out, 24, "%sinf", v < 0 ? "-" : "");
    else
        snprintf(out, 24, "%lld", (long long)v);
}

static ind_status rt__check_size(ind_module *m, const char *who, uint32_t size, int64_t value) {
    const ind_symbol *s = &m->executable->sizes.size[size];
    if (value < s->lo || value > s->hi) {
        char lo[24], hi[24];
        rt__print_bound(lo, s->lo);
        rt__print_bound(hi, s->hi);
        return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE,
                         "%s: %s = %lld is outside [%s, %s], as declared for graph \"%s\"", who, s->name,
                         (long long)value, lo, hi, m->desc.name);
    }
    if (s->multiple_of > 1 && value % s->multiple_of)
        return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE,
                         "%s: %s = %lld is no multiple of %lld, as declared for graph \"%s\"", who, s->name,
                         (long long)value, (long long)s->multiple_of, m->desc.name);
    return IND_OK;
}

static const char *rt__skip_spaces(const char *p) {
    return p + strspn(p, " \t\r\n");
}

/* Digits after an optional sign. False if there are none, or on overflow. */
static bool rt__parse_int64(const char **at, int64_t *out) {
    const char *p = *at;
    bool negative = *p == '-';
    p += negative;
    if (*p < '0' || *p > '9') return false;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > ((uint64_t)INT64_MAX - (uint64_t)(*p - '0')) / 10) return false;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *at = p;
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

/* Parses one "NAME = VALUE" at *at and advances *at. */
static ind_status rt__parse_one_size(ind_module *m, const char *who, const char *text, const char **at,
                                     int64_t *values) {
    ind_context *c = m->context;
    const char *name = *at, *p = name;
    while (*p == '_' || (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z')) p++;
    size_t length = (size_t)(p - name);
    int shown = length < 64 ? (int)length : 64;
    p = rt__skip_spaces(p);
    if (!length || *p != '=')
        return ind__fail(c, IND_ERROR_PARSE,
                         "%s: sizes \"%.200s\": expected NAME=VALUE at column %d, as in \"B=8, S=128\"", who, text,
                         (int)(name - text) + 1);
    p = rt__skip_spaces(p + 1);
    int64_t value;
    if (!rt__parse_int64(&p, &value))
        return ind__fail(c, IND_ERROR_PARSE, "%s: sizes \"%.200s\": expected an integer at column %d", who, text,
                         (int)(p - text) + 1);
    *at = p;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = &m->executable->sizes.size[i];
        if (strlen(s->name) != length || memcmp(s->name, name, length)) continue;
        if (values[i] != IND__SIZE_UNSET)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s: size %s is given twice in \"%.200s\"", who, s->name,
                             text);
        values[i] = value;
        return rt__check_size(m, who, i, value);
    }
    return ind__fail(c, IND_ERROR_NOT_FOUND, "%s: graph \"%s\" has no size \"%.*s\"", who, m->desc.name, shown, name);
}

ind_status ind__module_given_sizes(ind_module *m, const char *who, const char *text, int64_t *values) {
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) values[i] = IND__SIZE_UNSET;
    const char *p = rt__skip_spaces(text ? text : "");
    while (*p) {
        ind_status status = rt__parse_one_size(m, who, text, &p, values);
        if (status) return status;
        p = rt__skip_spaces(p);
        if (*p == ',') p = rt__skip_spaces(p + 1);
    }
    return IND_OK;
}

/* Computes missing sizes that facts determine. */
static ind_status rt__derive_sizes(ind_module *m, const char *who, int64_t *values, int64_t *scratch) {
    const ind__executable *x = m->executable;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        scratch[i] = values[i] == IND__SIZE_UNSET ? 0 : values[i];
        if (values[i] == IND__SIZE_UNSET && x->conditions.size_slot[i] == IND__RT_NONE)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                             "%s: size %s of graph \"%s\" has no value: give it as in \"%s=%lld\"", who,
                             x->sizes.size[i].name, m->desc.name, x->sizes.size[i].name,
                             (long long)x->sizes.size[i].hint);
    }
    ind_status status = ind__program_run(&x->conditions.derive, scratch);
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        if (values[i] != IND__SIZE_UNSET) continue;
        values[i] = scratch[x->conditions.size_slot[i]];
        status = rt__check_size(m, who, i, values[i]);
    }
    return status;
}

/* Example: "run: fact S == 4*T does not hold: S = 6, T = 2" */
static ind_status rt__condition_failed(ind_module *m, const char *who, const rt__exec_condition *c,
                                       const int64_t *values) {
    char list[300] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < c->num_sizes && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s = %lld", i ? ", " : "",
                                 m->executable->sizes.size[c->size[i]].name, (long long)values[c->size[i]]);
    return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE, "%s: %s %.400s does not hold: %s", who,
                     c->guard ? "guard" : "fact", c->text, list);
}

/* Checks facts before guards: if a fact fails, guards are irrelevant. *guard: the failed condition is a guard. */
static ind_status rt__check_conditions(ind_module *m, const char *who, const int64_t *values, int64_t *scratch,
                                       bool *guard) {
    const ind__executable *x = m->executable;
    memcpy(scratch, values, m->desc.num_sizes * sizeof *values);
    ind_status status = ind__program_run(&x->conditions.check, scratch);
    if (status) return status;
    for (int guards = 0; guards < 2; guards++) {
        *guard = guards;
        for (uint32_t i = 0; i < m->desc.num_conditions; i++) {
            const rt__exec_condition *c = &x->conditions.condition[i];
            if (c->guard == *guard && !scratch[c->slot]) return rt__condition_failed(m, who, c, values);
        }
    }
    *guard = false;
    return IND_OK;
}

static ind_status rt__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values, int64_t *scratch,
                                   bool *guard) {
    *guard = false;
    ind_status status = ind__module_given_sizes(m, who, text, values);
    if (!status) status = rt__derive_sizes(m, who, values, scratch);
    return status ? status : rt__check_conditions(m, who, values, scratch, guard);
}

ind_status ind__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values) {
    bool guard;
    int64_t *scratch =
        (int64_t *)ind__alloc(m->context, (m->executable->conditions.num_scratch + (size_t)1) * sizeof *scratch);
    if (!scratch) return ind__failed(m->context);
    ind_status status = rt__module_sizes(m, who, text, values, scratch, &guard);
    ind__free(m->context, scratch);
    return status;
}
