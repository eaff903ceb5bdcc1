/* ------------------------------------------------------------------------------------------------- >>values */

static const ind__inst *cg__inst(const ind__writer *w, uint32_t i) {
    return &w->body->inst[i];
}

/* Returns the index of a LOAD or STORE (linear, elements) or of an INDEX, in the variables of the domain. */
static ind_expr cg__index_of(const ind__writer *w, uint32_t i) {
    return w->plan->domain.index[cg__inst(w, i)->index];
}

static ind_dtype cg__memory_dtype(const ind__writer *w, uint32_t i) {
    return w->schedule->program->buffer[cg__inst(w, i)->source].dtype;
}

/* True if the decimal text of v, read as f32, differs from (float)v. Decimal to double to float rounds twice, which
   matters near the midpoint of two floats. */
static bool cg__double_rounding(double v) {
    float f = (float)v;
    float next = nextafterf(f, v > (double)f ? INFINITY : -INFINITY);
    double middle = ((double)f + (double)next) / 2;
    return v != (double)f && fabs(v - middle) <= fabs(v) * 1e-15;
}

static void cg__float_literal(ind__writer *w, double v, bool single) {
    if (single && !isnan(v)) v = cg__double_rounding(v) || isinf((float)v) ? (double)(float)v : v;
    if (isnan(v) || isinf(v)) {
        const char *bits = isnan(v) ? "7fc00000" : v > 0 ? "7f800000" : "ff800000";
        ind__textf(&w->code, "%s__uint_as_float(0x%su)", single ? "" : "(double)", bits);
        return;
    }
    ind__text t = {.context = w->context, .mid_line = true};
    ind__text_double(&t, v);
    bool plain = t.data && !strpbrk(t.data, ".eE");
    if (!t.data)
        cg__fail(w);
    else
        ind__textf(&w->code, v < 0 || signbit(v) ? "(%s%s%s)" : "%s%s%s", t.data, plain ? ".0" : "", single ? "f" : "");
    ind__text_free(&t);
}

static void cg__literal(ind__writer *w, const ind__inst *inst) {
    int64_t i = inst->imm.i;
    if (ind_dtype_is_float((ind_dtype)inst->dtype))
        cg__float_literal(w, inst->imm.f, inst->dtype != IND_F64);
    else if (inst->dtype == IND_BOOL)
        ind__textf(&w->code, i ? "true" : "false");
    else if (i == INT64_MIN)
        ind__textf(&w->code, "(-9223372036854775807LL - 1)");
    else if (inst->dtype == IND_I32 && i == INT32_MIN)
        ind__textf(&w->code, "(-2147483647 - 1)");
    else
        ind__textf(&w->code, i < 0 ? "(%lld%s)" : "%lld%s", (long long)i, inst->dtype == IND_I64 ? "LL" : "");
}

/* Writes the value of instruction i as an operand. */
static void cg__value(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (w->value[i])
        ind__textf(&w->code, "%s", w->value[i]);
    else if (inst->op == IND_LOOP_CONSTANT)
        cg__literal(w, inst);
    else
        ind__textf(&w->code, "v%u", i);
}

/* Types that exist in memory only: prelude function, rounding op, conversions to and from a value. */
typedef struct cg__narrow_type {
    int function;
    ind_loop_op rounding;
    const char *load, *store;
} cg__narrow_type;

static const cg__narrow_type *cg__narrow_of(ind_dtype memory) {
    static const cg__narrow_type rows[IND_NUM_DTYPES] = {
        [IND_F16] = {IND__CG_F16, IND_LOOP_ROUND_F16, "ind_f16_to_f32(", "ind_f32_to_f16("},
        [IND_BF16] = {IND__CG_BF16, IND_LOOP_ROUND_BF16, "ind_bf16_to_f32(", "ind_f32_to_bf16("},
        [IND_F8E4M3FN] = {IND__CG_F8E4M3FN, IND_LOOP_ROUND_F8E4M3FN, "ind_f8e4m3fn_to_f32(", "ind_f32_to_f8e4m3fn("},
        [IND_F8E5M2] = {IND__CG_F8E5M2, IND_LOOP_ROUND_F8E5M2, "ind_f8e5m2_to_f32(", "ind_f32_to_f8e5m2("},
    };
    return rows[memory].load ? &rows[memory] : NULL;
}

/* Writes an element in memory as a value: "ind_bf16_to_f32(" element ")". */
static void cg__from_memory(ind__writer *w, ind_dtype memory, const char *element) {
    const cg__narrow_type *narrow = cg__narrow_of(memory);
    if (narrow) cg__use(w, narrow->function);
    const char *before = narrow ? narrow->load : memory == IND_BOOL ? "(0 != " : "";
    ind__textf(&w->code, "%s%s%s", before, element, before[0] ? ")" : "");
}

/* Elements that the first part of a FINISH passes to the second: one element per row of each of these buffers. */
#define IND__CG_MAX_HANDED 4
typedef struct cg__handover {
    uint32_t buffer[IND__CG_MAX_HANDED];
    uint32_t num;
    ind_expr rows;
    int threads; /* threads that read them: a whole block, or a warp */
    int looks;   /* elements that each thread polls before it waits for one */
    bool takes;  /* true while the second part is written */
} cg__handover;

/* Returns the index of the access's buffer among the handed-over ones; -1: not handed over. */
static int cg__handed(const ind__writer *w, uint32_t i) {
    const cg__handover *h = w->plan->handover;
    for (uint32_t k = 0; h && k < h->num; k++)
        if (h->buffer[k] == cg__inst(w, i)->source) return (int)k;
    return -1;
}

/* Returns the arguments that locate a handed-over element: "lookback, 0, r0, n0". */
static const char *cg__handover_args(ind__writer *w, uint32_t i) {
    return cg__string(w, "lookback, %d, %s, %s", cg__handed(w, i), cg__expr_string(w, cg__index_of(w, i)),
                      cg__expr_string(w, w->plan->handover->rows));
}

/* Returns "ind_take<float>(ahead1[k], lookback, 0, r0, n0)": the handed-over element, which has been polled. */
static const char *cg__take(ind__writer *w, uint32_t i) {
    return cg__string(w, "ind_take<%s>(ahead%u[k], %s)", cg__types[cg__memory_dtype(w, i)].memory, i,
                      cg__handover_args(w, i));
}

/* Returns buffer[index] of a LOAD or STORE, or the expression in `memory` if it is set. */
static const char *cg__element(ind__writer *w, uint32_t i) {
    if (w->memory[i]) return w->memory[i];
    if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__handed(w, i) >= 0) return cg__take(w, i);
    const char *index = cg__expr_string(w, cg__index_of(w, i));
    size_t n = strlen(index) + 24;
    char *s = (char *)ind__arena_alloc(&w->scratch, n);
    if (!s) {
        cg__fail(w);
        return "";
    }
    ind__format(s, n, "%s[%s]", cg__buffer(w, cg__inst(w, i)->source), index);
    return s;
}

/* Writes "const float v12 = ", the declaration of the instruction's result; the caller ends the line. */
static void cg__declare(ind__writer *w, uint32_t i) {
    ind__textf(&w->code, "const %s v%u = ", cg__types[cg__inst(w, i)->dtype].value, i);
}

/* Returns the name of the vector whose element j is LOAD i; NULL: not an element of a vector. */
static const char *cg__vector_of(ind__writer *w, uint32_t i) {
    const char *at = w->memory[i] ? strstr(w->memory[i], ".at[j]") : NULL;
    return at && !at[6] ? cg__string(w, "%.*s", (int)(at - w->memory[i]), w->memory[i]) : NULL;
}

/* Like cg__vector_of, but NULL unless the vector is bf16. Half of the elements are then extracted by one instruction
   instead of two (layer_norm of 65536: 17 percent fewer instructions). */
static const char *cg__vector_of_bf16(ind__writer *w, uint32_t i) {
    return cg__memory_dtype(w, i) == IND_BF16 ? cg__vector_of(w, i) : NULL;
}

static ind_expr cg__r_numel(const ind__writer *w);
static uint32_t cg__r_mask(const ind__writer *w);

/* True if the index of the LOAD may be outside its buffer. All conditions must hold: the LOAD is the same for a whole
   row, only the row's elements use it, and both row and buffer may be empty. The index may rely on a row element:
   mask[r % B] of B elements is mask[0] if B is 0 or 1. */
static bool cg__may_be_outside(const ind__writer *w, uint32_t load) {
    int64_t least = 1, elements = 1;
    if (!w->plan->domain.rrank || w->plan->rooted[load] || w->plan->varies[load] & cg__r_mask(w)) return false;
    ind__known_bounds(cg__r_numel(w), &least, NULL);
    if (least > 0) return false;
    const ind_expr numel = ind__buffer_numel(&w->schedule->program->buffer[cg__inst(w, load)->source]);
    ind__known_bounds(numel, &elements, NULL);
    return elements < 1 && !ind_known_lt(cg__index_of(w, load), numel);
}

/* Writes "v1 ? ": the LOAD's mask, and the check that the row is not empty if the index needs one. A vector with a
   false mask is 0. */
static bool cg__load_condition(ind__writer *w, uint32_t i) {
    const uint32_t mask = w->memory[i] ? 0 : cg__inst(w, i)->arg[0];
    const bool maybe = cg__may_be_outside(w, i);
    if (maybe) ind__textf(&w->code, "%s != 0%s", cg__expr_string(w, cg__r_numel(w)), mask ? " && " : "");
    if (mask) cg__value(w, mask);
    if (maybe || mask) ind__textf(&w->code, " ? ");
    return maybe || mask;
}

static void cg__load(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const char *vector = cg__vector_of_bf16(w, i);
    cg__declare(w, i);
    const bool condition = cg__load_condition(w, i);
    if (vector) {
        cg__use(w, IND__CG_BF16_AT);
        ind__textf(&w->code, "ind_bf16_at(%s, j)", vector);
    } else {
        cg__from_memory(w, cg__memory_dtype(w, i), cg__element(w, i));
    }
    ind__textf(&w->code, condition ? " : (%s)0;\n" : ";\n", cg__types[inst->dtype].value);
}

/* Returns the value that a STORE writes. Skips a rounding to the type in memory, as rounding twice equals rounding
   once. */
static uint32_t cg__stored_value(const ind__writer *w, uint32_t store) {
    uint32_t x = cg__inst(w, store)->arg[0];
    if (cg__inst(w, store)->reduction) return x;
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, store));
    bool rounds = narrow && cg__inst(w, x)->op == narrow->rounding && !w->value[x];
    return rounds ? cg__inst(w, x)->arg[0] : x;
}

/* Returns the text before a value that is combined with `old`. If the text ends in the "(" of a function, a ")" must
   follow. */
static const char *cg__combination(ind__writer *w, ind_reduction mode, ind_dtype type) {
    const bool sum = mode == IND_REDUCE_SUM, prod = mode == IND_REDUCE_PROD, max = mode == IND_REDUCE_MAX;
    if (type == IND_BOOL) return sum || max ? "old | " : "old & ";
    if (!sum && !prod) {
        cg__use(w, IND__CG_MAXMIN);
        const char *of = ind_dtype_is_float(type) ? "" : cg__string(w, "<%s>", cg__types[type].value);
        return cg__string(w, "%s%s(old, ", max ? "ind_max" : "ind_min", of);
    }
    if (ind_dtype_is_float(type)) return sum ? "old + " : "old * ";
    return cg__string(w, "(%s)old %c (%s)", cg__types[type].wrapping, sum ? '+' : '*', cg__types[type].wrapping);
}

/* True if an atomic instruction adds this type to memory. */
static bool cg__adds_natively(const ind__inst *store, ind_dtype memory) {
    return store->reduction == IND_REDUCE_SUM &&
           (memory == IND_I32 || memory == IND_I64 || memory == IND_F32 || memory == IND_F64);
}

/* Prelude functions that add to memory, and the first architecture with their instructions: for one element, and for up
   to 16 bytes of neighbours (PTX ISA, red: f16 from sm_70 on, bf16 from sm_90, several elements from sm_90). A value
   that is not of the narrow type is excluded: it would be rounded before the sum, once more than necessary. */
typedef struct cg__adder_row {
    ind_dtype type;
    int function, scalar_from, vector_from;
    const char *name;
} cg__adder_row;

static const cg__adder_row *cg__adder(const ind__writer *w, uint32_t i, int elements) {
    static const cg__adder_row rows[] = {{IND_F32, IND__CG_ADD_F32, INT_MAX, 90, "ind_add_f32"}, /* scalar: atomicAdd */
                                         {IND_F16, IND__CG_ADD_F16, 70, 90, "ind_add_f16"},
                                         {IND_BF16, IND__CG_ADD_BF16, 90, 90, "ind_add_bf16"}};
    if (cg__inst(w, i)->reduction != IND_REDUCE_SUM) return NULL;
    if (!ind__is_value_of(w->schedule->program, w->body, cg__inst(w, i)->arg[0], cg__memory_dtype(w, i))) return NULL;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (rows[k].type != cg__memory_dtype(w, i)) continue;
        bool there = w->target->sm >= (elements > 1 ? rows[k].vector_from : rows[k].scalar_from);
        return there ? &rows[k] : NULL;
    }
    return NULL;
}

/* Writes "ind_add_bf16(&out0[i], ind_f32_to_bf16(value));". */
static void cg__add_narrow(ind__writer *w, uint32_t i, const cg__adder_row *adder) {
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, i));
    cg__use(w, narrow->function);
    cg__use(w, adder->function);
    ind__textf(&w->code, "%s(&%s, %s", adder->name, cg__element(w, i), narrow->store);
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, "));\n");
}

/* Writes "ind_atomic(&out0[i], [=](T element) { return element combined with the value; });". */
static void cg__atomic(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const ind_dtype memory = cg__memory_dtype(w, i), type = (ind_dtype)inst->dtype;
    const cg__adder_row *adder = cg__adder(w, i, 1);
    if (adder) {
        cg__add_narrow(w, i, adder);
        return;
    }
    const char *element = cg__element(w, i);
    if (cg__adds_natively(inst, memory)) {
        const char *word = memory == IND_I64 ? "unsigned long long" : NULL;
        ind__textf(&w->code, word ? "atomicAdd((%s *)&%s, (%s)" : "atomicAdd(%s&%s, %s", word ? word : "", element,
                   word ? word : "");
        cg__value(w, inst->arg[0]);
        ind__textf(&w->code, ");\n");
        return;
    }
    const bool least = inst->reduction == IND_REDUCE_MIN;
    if (memory == IND_I32 && type == IND_I32 && (least || inst->reduction == IND_REDUCE_MAX)) {
        ind__textf(&w->code, "atomic%s(&%s, ", least ? "Min" : "Max", element);
        cg__value(w, inst->arg[0]);
        ind__textf(&w->code, ");\n");
        return;
    }
    const char *how = cg__combination(w, (ind_reduction)inst->reduction, type);
    cg__use(w, IND__CG_ATOMIC);
    ind__textf(&w->code, "ind_atomic(&%s, [=](%s element) {\n", element, cg__types[memory].memory);
    ind__textf(&w->code, "    const %s old = ", cg__types[type].value);
    cg__from_memory(w, memory, "element");
    ind__textf(&w->code, ";\n    return (%s)%s(%s", cg__types[memory].memory,
               memory == IND_F16    ? "ind_f32_to_f16"
               : memory == IND_BF16 ? "ind_f32_to_bf16"
                                    : "",
               how);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, how[0] == 'i' ? "));\n});\n" : ");\n});\n");
}

/* True if store i writes exactly the element that load x has read. */
static bool cg__copies(const ind__writer *w, uint32_t i, uint32_t x) {
    const ind__inst *load = cg__inst(w, x);
    return load->op == IND_LOOP_LOAD && !load->arg[0] && !w->value[x] && w->memory[x] &&
           cg__memory_dtype(w, x) == cg__memory_dtype(w, i);
}

/* Writes "element = value;", rounded to the type in memory. */
static void cg__plain_store(ind__writer *w, uint32_t i) {
    uint32_t x = cg__stored_value(w, i);
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, i));
    if (narrow && cg__copies(w, i, x)) {
        ind__textf(&w->code, "%s = %s;\n", cg__element(w, i), w->memory[x]);
        return;
    }
    if (narrow) cg__use(w, narrow->function);
    ind__textf(&w->code, "%s = %s", cg__element(w, i), narrow ? narrow->store : "");
    cg__value(w, x);
    ind__textf(&w->code, narrow ? ");\n" : ";\n");
}

/* Writes "ind_leave<float>(block, lookback, 0, i0, n0, v19);". */
static void cg__leave(ind__writer *w, uint32_t i) {
    const ind_dtype memory = cg__memory_dtype(w, i);
    const cg__narrow_type *narrow = cg__narrow_of(memory);
    if (narrow) cg__use(w, narrow->function);
    ind__textf(&w->code, "ind_leave<%s>(block, %s, %s", cg__types[memory].memory, cg__handover_args(w, i),
               narrow ? narrow->store : "");
    cg__value(w, cg__stored_value(w, i));
    ind__textf(&w->code, narrow ? "));\n" : ");\n");
}

static bool cg__combines_run(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_STORE && (cg__inst(w, i)->flags & IND__INST_RUN);
}
static void cg__combine_column(ind__writer *w, uint32_t i);

/* Writes "if (v3)" on its own line, and indents the next one. */
static void cg__write_mask(ind__writer *w, uint32_t mask) {
    if (!mask) return;
    ind__textf(&w->code, "if (");
    cg__value(w, mask);
    ind__textf(&w->code, ")\n");
    w->code.indent++;
}

/* Writes a STORE: under its mask, and combined with the element in memory if it is a reduction. */
static void cg__store(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (cg__combines_run(w, i)) {
        cg__combine_column(w, i);
        return;
    }
    if (w->memory[i] && w->plan->vector[i] > 1) { /* collected for cg__vector_stores */
        cg__plain_store(w, i);
        return;
    }
    if (cg__handed(w, i) >= 0) cg__leave(w, i); /* first, as the second part waits for it */
    cg__write_mask(w, inst->arg[1]);
    if (inst->reduction)
        cg__atomic(w, i);
    else
        cg__plain_store(w, i);
    if (inst->arg[1]) w->code.indent--;
}

/* Writes "const int t12 = ...": an index read from memory that an earlier kernel has checked. */
static void cg__checked(ind__writer *w, uint32_t i, const char *extent) {
    const uint32_t x = cg__inst(w, i)->arg[0];
    ind__textf(&w->code, "const %s t%u = (%s)(", cg__int(w), i, cg__int(w));
    cg__value(w, x);
    if (cg__inst(w, i)->flags & IND__INST_WRAP) {
        ind__textf(&w->code, " < 0 ? ");
        cg__value(w, x);
        ind__textf(&w->code, " + %s : ", extent);
        cg__value(w, x);
    }
    ind__textf(&w->code, ");\n");
}

static bool cg__may_be_unused(const ind__writer *w, uint32_t indirect);

/* Writes "const int t12 = ...": an index read from memory and checked. It is 0 if it may be unused and its row is
   empty. */
static void cg__indirect(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const char *extent = cg__expr_string(w, w->plan->domain.index[inst->index]);
    const bool maybe = cg__may_be_unused(w, i);
    const char *used = maybe ? cg__string(w, "%s == 0 ? 0 : ", cg__expr_string(w, cg__r_numel(w))) : "";
    const char *check = inst->flags & IND__INST_WRAP ? "ind_index_wrapped" : "ind_index";
    if (inst->flags & IND__INST_CHECKED) {
        cg__checked(w, i, extent);
        return;
    }
    if (w->plan->only_check[i])
        ind__textf(&w->code, "(void)%s(", check);
    else
        ind__textf(&w->code, "const %s t%u = %s(%s)%s(", cg__int(w), i, used, cg__int(w), check);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, ", %s, %uull, error);\n", extent, i + 1);
    cg__use(w, IND__CG_INDEX);
    w->args.needs_error = true;
}

static void cg__index_value(ind__writer *w, uint32_t i) {
    ind_dtype dtype = (ind_dtype)cg__inst(w, i)->dtype;
    const char *index = cg__expr_string(w, cg__index_of(w, i));
    cg__declare(w, i);
    if (dtype == IND_BOOL)
        ind__textf(&w->code, "(%s) != 0;\n", index);
    else
        ind__textf(&w->code, "(%s)(%s);\n", cg__types[dtype].value, index);
}

/* Writes a cast. Floats are cast to narrow integers through int, as on the host; to bool by comparison with 0. */
static void cg__cast(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    ind_dtype to = (ind_dtype)inst->dtype, from = (ind_dtype)cg__inst(w, inst->arg[0])->dtype;
    bool narrow = ind_dtype_is_float(from) && ind_dtype_is_integer(to) && ind_dtype_bytes(to) < 4;
    cg__declare(w, i);
    if (to != IND_BOOL) ind__textf(&w->code, narrow ? "(%s)(int)" : "(%s)", cg__types[to].value);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, to == IND_BOOL ? " != 0;\n" : ";\n");
}

static void cg__call(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    uint32_t n = 0;
    while (n + 1 < w->calls.num && w->calls.function[n] != inst->imm.function) n++;
    cg__declare(w, i);
    ind__textf(&w->code, "ind_user_%u(", (unsigned)n);
    for (int k = 0; k < inst->imm.function->num_args; k++) {
        ind__textf(&w->code, k ? ", " : "");
        cg__value(w, inst->arg[k]);
    }
    ind__textf(&w->code, ");\n");
}

static uint32_t cg__softmax_term(const ind__writer *w, uint32_t reduce);

/* True if the op preserves the relative error of its operand. */
static bool cg__preserves_relative(const ind__inst *inst) {
    switch ((ind_loop_op)inst->op) {
    case IND_LOOP_MUL:
    case IND_LOOP_DIV:
    case IND_LOOP_RECIPROCAL:
    case IND_LOOP_NEG:
    case IND_LOOP_ABS: return true;
    default: return false;
    }
}

/* True if every result of the value is rounded to 16 bits before its relative error can grow. */
static bool cg__is_used_narrow(ind__writer *w, uint32_t from) {
    uint8_t *reached = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    if (!reached) return false;
    memset(reached, 0, w->body->num_inst);
    reached[from] = 1;
    for (uint32_t i = from + 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        const ind_dtype memory = inst->op == IND_LOOP_STORE ? cg__memory_dtype(w, i) : IND_F32;
        for (int k = 0; k < IND__MAX_ARGS; k++) reached[i] |= inst->arg[k] && reached[inst->arg[k]];
        if (!reached[i]) continue;
        if (inst->op == IND_LOOP_ROUND_F16 || inst->op == IND_LOOP_ROUND_BF16 || memory == IND_F16 ||
            memory == IND_BF16)
            reached[i] = 0;
        else if (!cg__preserves_relative(inst))
            return false;
    }
    return true;
}

/* True if the hardware ex2 may compute the terms of a softmax. For x - m <= 0 its result is off by at most |x - m| *
   2^-24. That is 5e-6 if the result is not 0, a hundredth of the rounding to 16 bits. Terms below 2^-126 are 0 instead
   of subnormal. expf takes twice the instructions of the rest of the kernel, which bounds rows of 16-bit elements in
   clusters: softmax of 65536 and 262144 bf16 reaches 84 and 84 % of copy bandwidth with expf, 87 and 88 without. expf
   also takes a fifth of NVRTC's time for these kernels. */
static bool cg__is_approximate_exp(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_EXP || inst->dtype != IND_F32) return false;
    for (uint32_t r = 1; r < i; r++)
        if (cg__inst(w, r)->op == IND_LOOP_REDUCE && cg__inst(w, r)->reduction == IND_REDUCE_ONLINE_SOFTMAX &&
            cg__softmax_term(w, r) == i)
            return cg__is_used_narrow(w, i);
    return false;
}

/* The text of an op whose results are rounded to 16 bits, by instructions that are less exact than the functions of the
   op template; NULL: it has none. The relative errors are below 2e-5, a tenth of the rounding to f16, if the result is
   not 0. (8 results of an epilogue with gelu_tanh take 94 instructions instead of 207, with gelu 168 instead of 246:
   sm_90a.) */
static const char *cg__approximate_text(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (cg__is_approximate_exp(w, i)) return "ind_exp2($0 * 1.44269504f)";
    if (inst->dtype != IND_F32 || (inst->op != IND_LOOP_SIGMOID && inst->op != IND_LOOP_ERFC)) return NULL;
    if (!cg__is_used_narrow(w, i)) return NULL;
    return inst->op == IND_LOOP_ERFC ? "ind_approx_erfc($0)" : "ind_approx_sigmoid($0)";
}

/* Writes an op from its op template. */
static void cg__compute(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    uint32_t typed = inst->arg[inst->op == IND_LOOP_WHERE ? 1 : 0];
    ind_dtype type = (ind_dtype)cg__inst(w, typed)->dtype;
    const char *approximate = cg__approximate_text(w, i),
               *s = approximate ? approximate : cg__find_op_template((ind_loop_op)inst->op, type);
    if (!s) {
        ind__fail(w->context, IND_ERROR_NOT_SUPPORTED, "kernel %s: op %s does not exist for %s", w->kernel->name,
                  ind__loop_op_name((ind_loop_op)inst->op), ind_dtype_name(type));
        cg__fail(w);
        return;
    }
    static const struct {
        const char *in_text;
        int function;
    } functions[] = {{"f16(", IND__CG_F16},
                     {"_bf16(", IND__CG_BF16},
                     {"ind_max", IND__CG_MAXMIN},
                     {"ind_min", IND__CG_MAXMIN},
                     {"ind_div", IND__CG_DIV},
                     {"ind_pow", IND__CG_POW},
                     {"ind_mod", IND__CG_MOD},
                     {"ind_shift", IND__CG_SHIFT},
                     {"ind_gcd", IND__CG_GCD},
                     {"ind_philox", IND__CG_PHILOX},
                     {"f8e4m3fn(", IND__CG_F8E4M3FN},
                     {"f8e5m2(", IND__CG_F8E5M2},
                     {"ind_digamma", IND__CG_DIGAMMA},
                     {"ind_bessel_ie", IND__CG_BESSEL_IE},
                     {"ind_bessel_jy", IND__CG_BESSEL_JY},
                     {"ind_zeta", IND__CG_ZETA},
                     {"ind_exp2", IND__CG_EXP_BELOW},
                     {"ind_approx_", IND__CG_APPROXIMATE},
                     {"ind_igamma", IND__CG_IGAMMA}};
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
        if (strstr(s, functions[k].in_text) && !(k == 0 && strstr(s, "bf16"))) cg__use(w, functions[k].function);
    cg__declare(w, i);
    for (; *s; s++) {
        if (*s != '$')
            ind__text_raw(&w->code, s, 1);
        else if (*++s == 't')
            ind__textf(&w->code, "%s", cg__types[type].value);
        else if (*s == 'u')
            ind__textf(&w->code, "%s", cg__types[type].wrapping);
        else if (*s == 'h' || *s == 'f')
            ind__textf(&w->code, "%d", (int)(*s == 'h' ? (inst->imm.i & 255) / 64 : (inst->imm.i & 255) % 64));
        else if (*s == 'm')
            ind__textf(&w->code, "0x%llxull", (1ull << (inst->imm.i >> 8)) - 1);
        else
            cg__value(w, inst->arg[*s - '0']);
    }
    ind__textf(&w->code, ";\n");
}

static bool cg__is_softmax_part(const ind__writer *w, uint32_t i, int which) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_PART && inst->imm.i == which &&
           cg__inst(w, inst->arg[0])->reduction == IND_REDUCE_ONLINE_SOFTMAX;
}

/* True if i is the sum of an online softmax, with or without max - max added (which propagates NaN and infinity). */
static bool cg__is_softmax_sum(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_ADD) return cg__is_softmax_part(w, i, 1);
    for (int k = 0; k < 2; k++) {
        const ind__inst *zero = cg__inst(w, inst->arg[k]);
        if (zero->op == IND_LOOP_SUB && zero->arg[0] == zero->arg[1] && cg__is_softmax_part(w, zero->arg[0], 0))
            return cg__is_softmax_part(w, inst->arg[1 - k], 1);
    }
    return false;
}

/* True if i divides a whole row by that sum. The sum is at least 1, so its reciprocal cannot overflow. Multiplying by
   the reciprocal costs one more rounding and takes a tenth of the instructions. It also avoids a division, which alone
   takes NVRTC 3 ms. */
static bool cg__divides_by_softmax_sum(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_DIV && inst->dtype == IND_F32 && cg__is_softmax_sum(w, inst->arg[1]) &&
           w->plan->varies[i] != w->plan->varies[inst->arg[1]];
}

static void cg__divide_by_softmax_sum(ind__writer *w, uint32_t i) {
    cg__declare(w, i);
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, " * ind_reciprocal_of_sum(");
    cg__value(w, cg__inst(w, i)->arg[1]);
    ind__textf(&w->code, ");\n");
    cg__use(w, IND__CG_RECIPROCAL_OF_SUM);
}

/* Writes one instruction on its own line. Its operands must have been written before. */
static void cg__instruction(ind__writer *w, uint32_t i) {
    switch (cg__inst(w, i)->op) {
    case IND_LOOP_NONE:
    case IND_LOOP_CONSTANT: break; /* written where it is used */
    case IND_LOOP_LOAD: cg__load(w, i); break;
    case IND_LOOP_STORE: cg__store(w, i); break;
    case IND_LOOP_INDIRECT: cg__indirect(w, i); break;
    case IND_LOOP_INDEX: cg__index_value(w, i); break;
    case IND_LOOP_CAST: cg__cast(w, i); break;
    case IND_LOOP_CALL: cg__call(w, i); break;
    case IND_LOOP_REDUCE:
    case IND_LOOP_PART:
    case IND_LOOP_SCAN:
    case IND_LOOP_STATE:
    case IND_LOOP_PAIR:
        ind__fail(w->context, IND_ERROR_VERIFY, "kernel %s: value %u of a reduction or scan is used before it is known",
                  w->kernel->name, i);
        cg__fail(w);
        break;
    default:
        if (cg__divides_by_softmax_sum(w, i))
            cg__divide_by_softmax_sum(w, i);
        else
            cg__compute(w, i);
    }
}

/* Returns w->variant and replaces it by *scalar, a copy without vectors. The caller sets it back. *scalar must last
   until then. */
static const ind__variant *cg__write_scalars(ind__writer *w, ind__variant *scalar) {
    const ind__variant *before = w->variant;
    *scalar = *before;
    scalar->vector = 1;
    w->variant = scalar;
    return before;
}

/* Calls f for every value that the instruction uses: its arguments and the values in its indices. */
static void cg__each_use(const ind__writer *w, uint32_t i, void (*f)(void *self, uint32_t user, uint32_t used),
                         void *self) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op == IND_LOOP_STORE) f(self, i, cg__stored_value(w, i));
    const int args = inst->op == IND_LOOP_PACKED ? 1 : IND__MAX_ARGS; /* the others are there for templates */
    for (int k = inst->op == IND_LOOP_STORE; k < args; k++)
        if (inst->arg[k]) f(self, i, inst->arg[k]);
    uint32_t num =
        inst->op == IND_LOOP_INDIRECT ? 1 : inst->num_index; /* an INDIRECT's second entry is its own symbol */
    for (uint32_t k = 0; k < num; k++) {
        ind_expr e = w->plan->domain.index[inst->index + k];
        if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) continue;
        ind_expr symbol[64];
        int n = ind__expr_symbols(e, symbol, 64);
        for (int s = 0; s < n && s < 64; s++) {
            const ind_symbol *sym = ind_expr_symbol(symbol[s]);
            if (sym && sym->kind == IND_SYMBOL_INDIRECT && (uint32_t)sym->slot < i) f(self, i, (uint32_t)sym->slot);
        }
    }
}

static void cg__mark_needed(void *self, uint32_t user, uint32_t used) {
    ind__writer *w = (ind__writer *)self;
    (void)user;
    w->needed[used] = 1;
}

#define IND__CG_CHECK_ONCE    1 /* once per element of the result */
#define IND__CG_CHECK_REDUCED 2 /* once per reduced element */

/* True if the kernel must execute i for each of its elements, even if no result uses it. A STORE that the template
   writes elsewhere has a text. */
static bool cg__is_root(const ind__writer *w, uint32_t i) {
    return (cg__inst(w, i)->op == IND_LOOP_STORE && !w->value[i]) || w->plan->only_check[i] == IND__CG_CHECK_ONCE;
}

/* Marks instruction `root` as needed; cg__close_needed then adds its transitive operands. */
static void cg__need(ind__writer *w, uint32_t root) {
    w->needed[root] = 1;
}

static void cg__need_none(ind__writer *w) {
    memset(w->needed, 0, w->body->num_inst);
}

static void cg__close_needed(ind__writer *w) {
    for (uint32_t i = w->body->num_inst; i-- > 1;)
        if (w->needed[i] && !w->known[i] && !w->value[i]) cg__each_use(w, i, cg__mark_needed, w);
}

/* Writes, in order, the needed instructions that are not yet known. They may need at most `stage` finished reductions
   and depend only on variables in `allowed` (bits of ind__writer.varies). */
static void cg__emit(ind__writer *w, uint32_t allowed, int stage) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || w->known[i] || w->value[i] || (w->plan->varies[i] & ~allowed) || w->plan->stage[i] > stage)
            continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

#define IND__CG_ALL_VARS   0xffffffffu
#define IND__CG_ALL_STAGES 255

/* Writes all STOREs of the body and everything they need: an epilogue. Results of reductions must have names. */
static void cg__emit_stores(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i)) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}
