/* ---- einsum and tensordot: expansions */

/* Lists the dimensions of x: those that `list` does not name, in order, with the named ones first (front) or last. */
static int ind__split_dims(ind__expansion *e, int k, const ind__attr *list, bool front, int *dims) {
    int rank = ind_tensor_rank(e->x[k]), named[IND_MAX_RANK], n = 0;
    bool taken[IND_MAX_RANK] = {false};
    for (int i = 0; i < list->count; i++) {
        int d = rank ? ind__dim_in(e, ind__list_int(list, i), rank) : -1;
        if (d < 0 || taken[d]) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "a dimension is named twice, or does not exist");
            return -1;
        }
        taken[d] = true;
        named[n++] = d;
    }
    int at = front ? n : 0;
    for (int d = 0; d < rank; d++) {
        if (!taken[d]) dims[at++] = d;
    }
    for (int i = 0; i < n; i++) dims[front ? i : rank - n + i] = named[i];
    return n;
}

static void ind__expand_tensordot(ind__expansion *e) {
    int da[IND_MAX_RANK], db[IND_MAX_RANK], m = ind_tensor_rank(e->x[0]), n = ind_tensor_rank(e->x[1]);
    int ca = ind__split_dims(e, 0, &e->a[0], false, da), cb = ca < 0 ? -1 : ind__split_dims(e, 1, &e->a[1], true, db);
    if (ca < 0 || cb < 0) return;
    int rank = m + n - ca - cb;
    if (ca != cb || rank > IND_MAX_RANK) {
        ind__refuse(e, ca != cb ? IND_ERROR_INVALID_ARGUMENT : IND_ERROR_LIMIT,
                    "dims_self has %d elements, dims_other %d; the result would have %d dimensions", ca, cb, rank);
        return;
    }
    ind_expr size[IND_MAX_RANK], rows = ind__e(e, 1), columns = rows, inner = rows;
    int at = 0;
    for (int d = 0; d < m - ca; d++) rows = ind_expr_mul(rows, size[at++] = ind_tensor_size(e->x[0], da[d]));
    for (int d = cb; d < n; d++) columns = ind_expr_mul(columns, size[at++] = ind_tensor_size(e->x[1], db[d]));
    for (int i = 0; i < ca; i++) {
        ind_expr a = ind_tensor_size(e->x[0], da[m - ca + i]), b = ind_tensor_size(e->x[1], db[i]);
        inner = ind_expr_mul(inner, a);
        if (ind_known_eq(a, b)) continue;
        char first[300], second[300];
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s and dim %d of %s are not known to be equal",
                    da[m - ca + i], ind__describe_operand(e, 0, first, sizeof first), db[i],
                    ind__describe_operand(e, 1, second, sizeof second));
        return;
    }
    ind_expr first[2] = {rows, inner}, second[2] = {inner, columns};
    ind_tensor a = m ? ind_permute(e->x[0], da, m) : e->x[0], b = n ? ind_permute(e->x[1], db, n) : e->x[1];
    e->y = ind_view(ind_matmul(ind_view(a, first, 2), ind_view(b, second, 2)), size, rank);
}

/* ---- einsum: each operand gets one dimension per label, in the order of the labels. Labels that no later operand or
   result needs are summed in the product with the next operand */

#define IND__EINSUM_LABELS (52 + IND_MAX_RANK) /* a-z, A-Z, then the dimensions of "..." from the last */

typedef struct ind__einsum {
    ind__expansion *e;
    int last[IND__EINSUM_LABELS];  /* last operand with the label; num_x: the result has it; -1: none */
    int order[IND__EINSUM_LABELS]; /* position in the result, or after all of these */
    ind_expr size[IND__EINSUM_LABELS];
    int num_out, out[IND_MAX_RANK];
    int ellipsis; /* dimensions of the longest "..." */
} ind__einsum;

static int ind__label_of(char ch) {
    return ch >= 'a' && ch <= 'z' ? ch - 'a' + 26 : ch >= 'A' && ch <= 'Z' ? ch - 'A' : -1;
}

/* Reads the labels of one term of the equation; "..." stands for `ellipsis` dimensions. Returns their number, -1 on
   error. */
static int ind__einsum_term(ind__expansion *e, const char *s, size_t n, int ellipsis, int labels[IND_MAX_RANK]) {
    int count = 0;
    bool dots = false;
    for (size_t i = 0; i < n; i++) {
        int label = ind__label_of(s[i]), more = 1;
        if (s[i] == ' ') continue;
        if (s[i] == '.' && i + 2 < n && s[i + 1] == '.' && s[i + 2] == '.' && !dots) {
            dots = true;
            i += 2;
            more = ellipsis;
        } else if (label < 0) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                        "the equation has \"%c\" where a letter or one \"...\" may stand", s[i]);
            return -1;
        }
        if (count + more > IND_MAX_RANK) {
            ind__refuse(e, IND_ERROR_LIMIT, "a term has more than %d dimensions", IND_MAX_RANK);
            return -1;
        }
        for (int k = 0; k < more; k++) labels[count++] = label >= 0 ? label : 52 + more - 1 - k;
    }
    return count;
}

static bool ind__has_dots(const char *s, size_t n) {
    for (size_t i = 0; i + 2 < n; i++) {
        if (!memcmp(s + i, "...", 3)) return true;
    }
    return false;
}

/* Returns the number of dimensions of "..." in a term: the rank less its letters. */
static int ind__dots_rank(ind__expansion *e, int k, const char *s, size_t n) {
    int letters = 0, rank = ind_tensor_rank(e->x[k]);
    char text[300];
    for (size_t i = 0; i < n; i++) letters += ind__label_of(s[i]) >= 0;
    if (rank == letters || (rank > letters && ind__has_dots(s, n))) return rank - letters;
    ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "\"%.*s\" names %d dimensions of %s", (int)(n > 60 ? 60 : n), s, letters,
                ind__describe_operand(e, k, text, sizeof text));
    return -1;
}

/* Returns operand k with each label once: repeated ones become a diagonal. labels: those of the result. Returns their
   number. */
static int ind__einsum_diagonal(ind__expansion *e, int k, int labels[IND_MAX_RANK], int count, ind_tensor *x) {
    *x = e->x[k];
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            if (labels[i] != labels[j]) continue;
            if (!ind_known_eq(ind_tensor_size(*x, i), ind_tensor_size(*x, j))) {
                ind__refuse(e, IND_ERROR_SHAPE_MISMATCH,
                            "operand %d: dimensions of one letter are not known to be equal", k);
                return -1;
            }
            *x = ind_diagonal(*x, 0, i, j); /* the diagonal becomes the last dimension */
            int label = labels[i];
            for (int m = j; m + 1 < count; m++) labels[m] = labels[m + 1];
            for (int m = i; m + 2 < count; m++) labels[m] = labels[m + 1];
            count--;
            labels[count - 1] = label;
            i = -1;
            break;
        }
    }
    return count;
}

/* Drops dimensions of size 1 that are larger in other operands: they broadcast. */
static int ind__einsum_drop(const ind__einsum *s, int *labels, int count, ind_tensor *x) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (ind__is_int(ind_tensor_size(*x, kept), 1) && !ind__is_int(s->size[labels[i]], 1)) {
            *x = ind_select(*x, kept, ind__e(s->e, 0));
        } else {
            labels[kept++] = labels[i];
        }
    }
    return kept;
}

static bool ind__einsum_sizes(ind__einsum *s, int k, const int *labels, int count) {
    for (int i = 0; i < count; i++) {
        ind_expr own = ind_tensor_size(s->e->x[k], i), *all = &s->size[labels[i]];
        char text[300];
        s->last[labels[i]] = k;
        if (!ind__ok(*all) || ind__is_int(*all, 1)) *all = own;
        if (ind__is_int(own, 1) || ind_known_eq(own, *all)) continue;
        ind__refuse(s->e, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s does not agree with the same letter elsewhere", i,
                    ind__describe_operand(s->e, k, text, sizeof text));
        return false;
    }
    return true;
}

/* Returns x as a matrix of `groups` of labels. Groups: 0 batch (in both, needed later), 1 only in the first operand, 2
   only in the second, 3 in both and summed. */
static ind_tensor ind__einsum_matrix(const ind__einsum *s, ind_tensor x, const int *labels, int count, const int *group,
                                     const int groups[3], ind_expr product[3]) {
    int dims[IND_MAX_RANK], n = 0;
    for (int g = 0; g < 3; g++) {
        product[g] = ind__e(s->e, 1);
        for (int label = 0; label < IND__EINSUM_LABELS; label++) {
            for (int i = 0; i < count; i++) {
                if (labels[i] != label || group[label] != groups[g]) continue;
                product[g] = ind_expr_mul(product[g], ind_tensor_size(x, i));
                dims[n++] = i;
            }
        }
    }
    if (n) x = ind_permute(x, dims, n);
    return ind_view(x, product, 3);
}

/* Multiplies two operands and sums their common labels that are not needed later. Replaces a's labels. */
static int ind__einsum_pair(const ind__einsum *s, int k, ind_tensor *a, int *la, int na, ind_tensor b, const int *lb,
                            int nb) {
    static const int of_a[3] = {0, 1, 3}, of_b[3] = {0, 3, 2};
    int group[IND__EINSUM_LABELS], in[IND__EINSUM_LABELS] = {0}, n = 0;
    ind_expr first[3], second[3], size[IND_MAX_RANK];
    for (int i = 0; i < na; i++) in[la[i]] |= 1;
    for (int i = 0; i < nb; i++) in[lb[i]] |= 2;
    for (int l = 0; l < IND__EINSUM_LABELS; l++) group[l] = in[l] == 3 ? (s->last[l] > k ? 0 : 3) : in[l];
    ind_tensor x = ind__einsum_matrix(s, *a, la, na, group, of_a, first);
    ind_tensor y = ind__einsum_matrix(s, ind__to(b, ind_tensor_dtype(*a)), lb, nb, group, of_b, second);
    const bool summed = !ind__is_int(first[2], 1);
    int labels[IND__EINSUM_LABELS];
    for (int g = 0; g < 3; g++) {
        for (int l = 0; l < IND__EINSUM_LABELS; l++) {
            if (!in[l] || group[l] != g) continue;
            if (n == IND_MAX_RANK) {
                ind__refuse(s->e, IND_ERROR_LIMIT, "a product would have more than %d dimensions", IND_MAX_RANK);
                return 0;
            }
            size[n] = s->size[l];
            labels[n++] = l;
        }
    }
    *a = ind_view(summed ? ind_matmul(x, y) : ind_mul(x, y), size, n);
    memcpy(la, labels, (size_t)n * sizeof *la);
    return n;
}

/* Sums the labels of x that neither a later operand nor the result has. Integers become i64, as in sum. */
static int ind__einsum_sum(const ind__einsum *s, int k, ind_tensor *x, int *labels, int count) {
    int dims[IND_MAX_RANK], n = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        if (s->last[labels[i]] > k) {
            labels[kept++] = labels[i];
        } else {
            dims[n++] = i;
        }
    }
    if (n) *x = ind_sum(*x, dims, n, false, IND_DTYPE_NONE);
    return kept;
}

/* Reads the labels of the result: those after "->"; without "->", those that occur once, in order. */
static bool ind__einsum_output(ind__einsum *s, const char *arrow, const int *uses) {
    ind__expansion *e = s->e;
    s->num_out = 0;
    if (arrow) {
        s->num_out = ind__einsum_term(e, arrow + 2, strlen(arrow + 2), s->ellipsis, s->out);
    } else {
        for (int k = 0; k < s->ellipsis && s->num_out < IND_MAX_RANK; k++)
            s->out[s->num_out++] = 52 + s->ellipsis - 1 - k;
        for (int l = 0; l < 52; l++) {
            if (uses[l] != 1) continue;
            if (s->num_out == IND_MAX_RANK) {
                ind__refuse(e, IND_ERROR_LIMIT, "the result would have more than %d dimensions", IND_MAX_RANK);
                return false;
            }
            s->out[s->num_out++] = l;
        }
    }
    for (int i = 0; i < s->num_out; i++) {
        if (s->last[s->out[i]] < 0) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "the result has a letter that no operand has");
            return false;
        }
        if (s->last[s->out[i]] == e->num_x) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "the result has a letter twice");
            return false;
        }
        s->last[s->out[i]] = e->num_x;
    }
    return s->num_out >= 0;
}

typedef struct ind__einsum_labels {
    int label[IND_MAX_RANK], count;
} ind__einsum_labels;

static bool ind__einsum_read(ind__einsum *s, ind__einsum_labels *term, const char *equation) {
    ind__expansion *e = s->e;
    const char *arrow = strstr(equation, "->");
    size_t end = arrow ? (size_t)(arrow - equation) : strlen(equation);
    int uses[IND__EINSUM_LABELS] = {0}, k;
    for (int pass = 0; pass < 2; pass++) { /* pass 0 finds the dimensions of "..." */
        const char *at = equation;
        for (k = 0; at <= equation + end; k++) {
            size_t n = 0;
            while (at + n < equation + end && at[n] != ',') n++;
            if (k >= e->num_x) break;
            int dots = ind__dots_rank(e, k, at, n);
            if (dots < 0) return false;
            if (pass == 0 && dots > s->ellipsis) s->ellipsis = dots;
            if (pass == 1) {
                term[k].count = ind__einsum_term(e, at, n, dots, term[k].label);
                if (term[k].count < 0 || !ind__einsum_sizes(s, k, term[k].label, term[k].count)) return false;
                for (int i = 0; i < term[k].count; i++) uses[term[k].label[i]]++;
            }
            at += n + 1;
        }
        if (k != e->num_x || at <= equation + end) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                        "the equation \"%.80s\" does not have %d terms, one for each operand", equation, e->num_x);
            return false;
        }
    }
    return ind__einsum_output(s, arrow, uses);
}

static void ind__einsum_run(ind__einsum *s, ind__einsum_labels *term) {
    ind__expansion *e = s->e;
    ind_tensor x = {e->g, 0}, next;
    int labels[IND__EINSUM_LABELS], n = 0;
    for (int k = 0; k < e->num_x && !e->g->status; k++) {
        int count = ind__einsum_diagonal(e, k, term[k].label, term[k].count, &next);
        if (count < 0) return;
        count = ind__einsum_drop(s, term[k].label, count, &next);
        if (k == 0) {
            x = next;
            n = count;
            memcpy(labels, term[k].label, (size_t)n * sizeof *labels);
        } else {
            n = ind__einsum_pair(s, k, &x, labels, n, next, term[k].label, count);
        }
        if (!e->g->status) n = ind__einsum_sum(s, k, &x, labels, n);
    }
    int dims[IND_MAX_RANK];
    for (int i = 0; i < s->num_out && !e->g->status; i++) {
        for (int j = 0; j < n; j++) {
            if (labels[j] == s->out[i]) dims[i] = j;
        }
    }
    if (e->g->status) return;
    e->y = n ? ind_permute(x, dims, n) : x;
}

static void ind__expand_einsum(ind__expansion *e) {
    ind__einsum s;
    memset(&s, 0, sizeof s);
    s.e = e;
    for (int l = 0; l < IND__EINSUM_LABELS; l++) s.last[l] = -1;
    if (e->num_x < 1) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "no operand is given");
        return;
    }
    ind__einsum_labels *term = ind__arena_alloc(&e->g->arena, (size_t)e->num_x * sizeof *term);
    if (!term) {
        ind__refuse(e, IND_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    if (ind__einsum_read(&s, term, e->a[0].s ? e->a[0].s : "")) ind__einsum_run(&s, term);
}

/* ---- einsum and tensordot: implementations */

/* Op, its expansion. */
#define IND__EXPANDED_EINSUM(X)                                                                                        \
    X(TENSORDOT, ind__expand_tensordot)                                                                                \
    X(EINSUM, ind__expand_einsum)
