/* ---- quotients and remainders */

/* State of a // b or a % b while the rules are applied. */
typedef struct ir__division {
    ind_context *context;
    ir__sum a;    /* sorted */
    ind_expr den; /* b, as given */
    ir__term by;  /* b, unless it is a sum */
    bool sum;     /* b is a sum */
    bool mod;     /* computes a % b */
    int sign;     /* 1: b > 0; 2: never zero */
} ir__division;

/* Division by a nonzero b of any sign. If b is negative it divides by -b, unless -a or -b has no 64-bit form. */
static ind_expr ir__divide_nonzero(ind_expr a, ind_expr b, bool mod) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    if (ir__proven_sign(b) >= 0) return mod ? ir__modulo(a, b) : ir__divide(a, b);
    ind_context *c = a.context;
    uint32_t failures = ind__state_of(c)->failures;
    ind__state_of(c)->quiet++;
    ind_expr r = mod ? ir__modulo(ind_expr_neg(a), ind_expr_neg(b)) : ir__divide(ind_expr_neg(a), ind_expr_neg(b));
    if (mod) r = ind_expr_neg(r);
    ind__state_of(c)->quiet--;
    if (ind__ok(r) || failures != ind__state_of(c)->failures) return r;
    return mod ? ir__modulo(a, b) : ir__divide(a, b);
}

/* The same division with another numerator. */
static ind_expr ir__divide_again(const ir__division *d, ind_expr a) {
    if (d->sign < 0) return ir__divide_nonzero(a, d->den, d->mod);
    return d->mod ? ir__modulo(a, d->den) : ir__divide(a, d->den);
}

static ind_expr ir__no_rule(const ir__division *d) {
    return ir__expr_none(d->context);
}

/* 0 // b = 0 % b = 0. */
static ind_expr ir__rule_zero(ir__division *d) {
    return d->a.num ? ir__no_rule(d) : ind_int(d->context, 0);
}

/* x // 1 = x and x % 1 = x % -1 = 0. */
static ind_expr ir__rule_one(ir__division *d) {
    int64_t b;
    if (!ind_expr_is_int(d->den, &b) || (b != 1 && (b != -1 || !d->mod))) return ir__no_rule(d);
    return d->mod ? ind_int(d->context, 0) : ir__sum_build(&d->a);
}

/* Moves a term to the multiples of g (not divided) or to the rest; an integer is split. */
static void ir__split_term(ir__term t, ir__term g, ir__sum *multiples, ir__sum *rest) {
    ir__term q;
    int64_t above, below;
    if (ir__is_const_term(t) && ir__is_const_term(g)) {
        below = ir__floor_mod(t.c, g.c);
        if (ind__sub_overflow(t.c, below, &above)) above = 0, below = t.c; /* overflow: the integer is no small part */
        if (above) ir__sum_push(multiples, (ir__term){above, t.m, 0});
        if (below) ir__sum_push(rest, (ir__term){below, t.m, 0});
        return;
    }
    bool divides = ir__term_divide(t, g, &q) ||
                   (ir__is_const_term(g) && g.c != INT64_MIN && ind_known_multiple(ir__term_expr(t), g.c));
    ir__sum_push(divides ? multiples : rest, t);
}

/* t / b for b = c * (x/k) with an exact quotient x/k: k*t / (c*x), if that divides in form. */
static bool ir__exact_divide(ir__term t, ir__term b, ir__term *q) {
    int64_t k;
    ind_expr x, f = ir__exact_factor(b, &k, &x);
    if (!ind__ok(f)) return false;
    ir__term with = {b.c, ir__remove_factor(b.m, f), 0}, whole, scaled;
    if (!ind__ok(with.m) || !ir__mul_terms(with, ir__term_of(x), &whole) || !ind__ok(whole.m)) return false;
    return ir__mul_terms(t, (ir__term){k, ind_int(t.m.context, 1), 0}, &scaled) && ind__ok(scaled.m) &&
           ir__term_divide(scaled, whole, q);
}

/* True if the integer c of a numerator is split into a multiple of b and a rest. For b < 0 only if that makes it
   smaller. */
static bool ir__splits(int64_t c, int64_t b) {
    return b > 0 || ((c > 0 ? -c : c) <= b && (b != -1 || c != INT64_MIN));
}

/* (b*q + r) // b = q + r // b and (b*q + r) % b = r % b: floor(q + x) = q + floor(x) for an integer q. Any sign of b.
   For an integer b > 0 the remaining integer of a is in [0, b). */
static ind_expr ir__rule_multiples(ir__division *d) {
    if (d->sum) return ir__no_rule(d);
    ir__sum quotient = {.context = d->context}, rest = quotient;
    for (uint32_t i = 0; i < d->a.num; i++) {
        ir__term t = d->a.t[i], q;
        bool known = d->mod && !ir__is_const_term(t) && ir__is_const_term(d->by);
        if (known && !ir__term_divide(t, d->by, &q) && ind_known_multiple(ir__term_expr(t), d->by.c)) continue;
        if (ir__is_const_term(t) && ir__is_const_term(d->by) && ir__splits(t.c, d->by.c)) {
            int64_t below = ir__floor_mod(t.c, d->by.c);
            if (below) ir__sum_push(&rest, (ir__term){below, t.m, 0});
            if (below != t.c) ir__sum_push(&quotient, (ir__term){ir__floor_div(t.c, d->by.c), t.m, 0});
        } else if (ir__term_divide(t, d->by, &q) || ir__exact_divide(t, d->by, &q)) {
            ir__sum_push(&quotient, q);
        } else {
            ir__sum_push(&rest, t);
        }
    }
    bool applies = rest.num < d->a.num || quotient.num, failed = quotient.failed || rest.failed;
    ind_expr r = ir__no_rule(d);
    if (applies && !failed) {
        ind_expr part = ir__divide_again(d, ir__sum_build(&rest));
        r = d->mod ? part : ind_expr_add(ir__sum_build(&quotient), part);
    }
    d->a.failed = d->a.failed || failed;
    ir__sum_free(&quotient);
    ir__sum_free(&rest);
    return r;
}

/* c*x % b = (c % b)*x % b for integers; the sign of c is preserved, so that no integer grows. */
static ind_expr ir__rule_reduce(ir__division *d) {
    if (!d->mod || d->sum || !ir__is_const_term(d->by)) return ir__no_rule(d);
    bool changed = false;
    for (uint32_t i = 0; i < d->a.num; i++) {
        int64_t less = d->a.t[i].c % d->by.c;
        changed = changed || less != d->a.t[i].c;
        d->a.t[i].c = less;
    }
    return changed ? ir__modulo(ir__sum_build(&d->a), d->den) : ir__no_rule(d);
}

/* The largest monomial that divides all terms of s and g. */
static ir__term ir__sum_content(const ir__sum *s, ir__term g) {
    for (uint32_t i = 0; i < s->num && !ir__term_is_one(g); i++) g = ir__term_gcd(s->t[i], g);
    return g;
}

static ind_expr ir__sum_divided(const ir__sum *s, ir__term g) {
    ir__sum out = {.context = s->context};
    for (uint32_t i = 0; i < s->num; i++) {
        ir__term q;
        if (ir__term_divide(s->t[i], g, &q)) ir__sum_push(&out, q);
    }
    ind_expr e = ir__sum_build(&out);
    ir__sum_free(&out);
    return e;
}

/* (g*r) // (g*b) = r // b and (g*r) % (g*b) = g * (r % b): the quotient r/b is the same number, and
   g*r - g*b*floor(r/b) = g*(r - b*floor(r/b)). g is not zero, as g*b is not. */
static ind_expr ir__rule_common_factor(ir__division *d) {
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ind_expr r = ir__no_rule(d);
    ir__term g = den.num && !den.failed ? ir__sum_content(&d->a, ir__sum_content(&den, den.t[0])) : d->by;
    if (g.c < 0) g.c = g.c == INT64_MIN ? 1 : -g.c;
    if (!den.failed && ind__ok(g.m) && !ir__term_is_one(g)) {
        ind_expr by = ir__sum_divided(&den, g); /* must still be provably nonzero: the text is parsed again */
        ind_expr less = ind__ok(by) && ir__proven_sign(by) ? ir__divide_nonzero(ir__sum_divided(&d->a, g), by, d->mod)
                                                           : ir__no_rule(d);
        r = d->mod && ind__ok(less) ? ir__mul2(ir__term_expr(g), less) : less;
    }
    ir__sum_free(&den);
    return r;
}

/* 0 <= a < b: a // b = 0 and a % b = a. */
static ind_expr ir__rule_in_range(ir__division *d) {
    ind_expr a = ir__sum_build(&d->a);
    if (!ind__ok(a) || !ir__in_range(a, d->den)) return ir__no_rule(d);
    return d->mod ? a : ind_int(d->context, 0);
}

/* If q <= a/b < q + 1 at both ends of a's bounds: a // b = q and a % b = a - q*b. */
static ind_expr ir__rule_constant(ir__division *d) {
    ind_expr a = ir__sum_build(&d->a);
    int64_t b, lo, hi;
    ind_expr_bounds(a, &lo, &hi);
    if (!ind__ok(a) || !ind_expr_is_int(d->den, &b) || lo == INT64_MIN || hi == INT64_MAX) return ir__no_rule(d);
    int64_t q = ir__floor_div(lo, b), product;
    if (q != ir__floor_div(hi, b) || ind__mul_overflow(q, b, &product)) return ir__no_rule(d);
    return d->mod ? ind_expr_sub(a, ind_int(d->context, product)) : ind_int(d->context, q);
}

/* a % b is known from the facts in force. */
static ind_expr ir__rule_residue(ir__division *d) {
    ind_expr r, a = ir__sum_build(&d->a);
    return d->mod && ir__known_residue(a, d->den, &r) ? r : ir__no_rule(d);
}

static uint32_t ir__num_symbolic(const ir__sum *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num; i++) n += !ir__is_const_term(s->t[i]);
    return n;
}

/* One step of long division: subtracts q * den from the sum, where q is the quotient of its term i and den's term
   pivot. False, with nothing changed, if the number of terms would not shrink; integers are not counted, as FLIP adds
   them. */
static bool ir__long_division_step(ir__sum *rest, const ir__sum *den, uint32_t pivot, uint32_t i, ir__term *q) {
    if (!ir__term_divide(rest->t[i], den->t[pivot], q) || q->c == INT64_MIN) return false;
    ir__sum trial = {.context = rest->context};
    bool ok = true;
    for (uint32_t k = 0; k < rest->num; k++) ir__sum_push(&trial, rest->t[k]);
    for (uint32_t k = 0; k < den->num && ok; k++) {
        ir__term part;
        ok = ir__mul_terms((ir__term){-q->c, q->m, 0}, den->t[k], &part);
        if (ok) ir__sum_push(&trial, part);
    }
    ir__sum_normalise(&trial);
    ok = ok && !trial.failed && ir__num_symbolic(&trial) < ir__num_symbolic(rest);
    ir__sum drop = ok ? *rest : trial;
    if (ok) *rest = trial;
    ir__sum_free(&drop);
    return ok;
}

/* a = q*b + r for two sums, by long division on one term of b; false if no step is possible. */
static bool ir__long_division(const ir__sum *a, ind_expr b, ind_expr *q, ind_expr *r) {
    ir__sum den = {.context = a->context}, rest = den, quotient = den;
    ir__sum_add(&den, b, 1);
    for (uint32_t i = 0; i < a->num; i++) ir__sum_push(&rest, a->t[i]);
    for (uint32_t pivot = 0; pivot < den.num && !quotient.num && !den.failed; pivot++) {
        if (ir__is_const_term(den.t[pivot])) continue;
        for (uint32_t i = 0; i < rest.num;) {
            ir__term t;
            if (ir__long_division_step(&rest, &den, pivot, i, &t)) {
                ir__sum_push(&quotient, t);
                i = 0;
            } else {
                i++;
            }
        }
    }
    bool done = quotient.num && !quotient.failed && !rest.failed;
    if (done) {
        *q = ir__sum_build(&quotient);
        *r = ir__sum_build(&rest);
    }
    ir__sum_free(&den);
    ir__sum_free(&rest);
    ir__sum_free(&quotient);
    return done && ind__ok(*q) && ind__ok(*r);
}

/* (q*b + r) // b = q + r // b as above, any sign of b. */
static ind_expr ir__rule_long_division(ir__division *d) {
    ind_expr q, r;
    if (!d->sum || !ir__long_division(&d->a, d->den, &q, &r)) return ir__no_rule(d);
    r = ir__divide_again(d, r);
    return d->mod ? r : ind_expr_add(q, r);
}

/* The only term of a besides an integer, if it is of this kind with coefficient 1; the integer in *integer. Else
   invalid. */
static ind_expr ir__only_term(const ir__division *d, ind_expr_kind kind, int64_t *integer) {
    ind_expr found = ir__no_rule(d);
    *integer = 0;
    for (uint32_t i = 0; i < d->a.num; i++) {
        if (ir__is_const_term(d->a.t[i])) {
            *integer = d->a.t[i].c;
            continue;
        }
        if (ind__ok(found) || d->a.t[i].c != 1 || ind_expr_query_kind(d->a.t[i].m) != kind) return ir__no_rule(d);
        found = d->a.t[i].m;
    }
    return found;
}

/* True if the upper bounds show that the product may exceed 64 bits. An unbounded factor counts as small enough. */
static bool ir__product_exceeds(ind_expr a, ind_expr b) {
    int64_t x, y, product;
    ind_expr_bounds(a, NULL, &x);
    ind_expr_bounds(b, NULL, &y);
    bool ends = (x != INT64_MAX || ind_expr_is_int(a, NULL)) && (y != INT64_MAX || ind_expr_is_int(b, NULL));
    return ends && ind__mul_overflow(x, y, &product);
}

/* (x // d + c) // b = (x + c*d) // (d*b) for d, b > 0: floor(floor(y) / b) = floor(y / b) for an integer b > 0, with y
   = x/d + c. Not if d*b overflows or its bounds do not prove it positive. */
static ind_expr ir__rule_nested(ir__division *d) {
    int64_t c, scaled, i;
    ind_expr inner = ir__only_term(d, IND_EXPR_FLOORDIV, &c);
    if (d->mod || !ind__ok(inner)) return ir__no_rule(d);
    ind_expr x = ind_expr_arg(inner, 0), by = ind_expr_arg(inner, 1), shift = ind_int(d->context, 0);
    if (ir__proven_sign(by) != 1 || ir__product_exceeds(by, d->den)) return ir__no_rule(d);
    ind_expr product = ir__mul2(by, d->den);
    int64_t least; /* its bounds must prove the sign, or the bounds of the quotient widen */
    ind_expr_bounds(product, &least, NULL);
    if (!ind__ok(product) || least < 1) return ir__no_rule(d);
    if (c)
        shift = ind_expr_is_int(by, &i) && ind__mul_overflow(i, c, &scaled) ? ir__no_rule(d)
                                                                            : ir__mul2(by, ind_int(d->context, c));
    return ind__ok(shift) ? ir__divide(ind_expr_add(x, shift), product) : ir__no_rule(d);
}

/* (x % (b*m)) // b = (x // b) % m for b, m > 0: x % (b*m) = x - b*m*k with k = x // (b*m), so the left side is
   x // b - m*k, and k = (x // b) // m. */
static ind_expr ir__rule_of_mod(ir__division *d) {
    int64_t c;
    ind_expr inner = ir__only_term(d, IND_EXPR_MOD, &c);
    ir__term m;
    if (d->mod || d->sum || c || !ind__ok(inner)) return ir__no_rule(d);
    ind_expr by = ind_expr_arg(inner, 1);
    if (ir__proven_sign(by) != 1) return ir__no_rule(d);
    ind_expr rest = ir__no_rule(d);
    if (ind_expr_query_kind(by) != IND_EXPR_ADD && ir__term_divide(ir__term_of(by), d->by, &m))
        rest = ir__term_expr(m);
    else if (ir__is_const_term(d->by) && ind_known_multiple(by, d->by.c))
        rest = ir__divide(by, d->den);
    if (!ind__ok(rest) || ir__proven_sign(rest) != 1) return rest.id ? ir__no_rule(d) : rest;
    return ir__modulo(ir__divide(ind_expr_arg(inner, 0), d->den), rest);
}

/* True if the first term other than the integer has a negative coefficient. */
static bool ir__leads_negative(const ir__sum *s) {
    for (uint32_t i = 0; i < s->num; i++)
        if (!ir__is_const_term(s->t[i])) return s->t[i].c < 0;
    return false;
}

/* True if b is an integer that divides a. */
static bool ir__exact_division(ir__division *d) {
    if (d->sum || !ir__is_const_term(d->by)) return false;
    ind_expr a = ir__sum_build(&d->a);
    return ind__ok(a) && ind_known_multiple(a, d->by.c);
}

/* c*x // b = c*(x // b) if the integer b divides x; for a sum only the sign is taken out. */
static ind_expr ir__rule_exact_coefficient(ir__division *d) {
    if (d->mod || !ir__exact_division(d)) return ir__no_rule(d);
    ir__term t = d->a.t[0];
    if (d->a.num == 1 && t.c != 1 && ind_known_multiple(t.m, d->by.c))
        return ir__mul2(ind_int(d->context, t.c), ir__divide(t.m, d->den));
    if (d->a.num == 1 || !ir__leads_negative(&d->a)) return ir__no_rule(d);
    return ind_expr_neg(ir__divide(ind_expr_neg(ir__sum_build(&d->a)), d->den));
}

/* ((y + d*b*j) // d) % b = (y // d) % b: the quotient is y // d + b*j. */
static ind_expr ir__rule_floor_multiples(ir__division *d) {
    int64_t c;
    ind_expr inner = ir__only_term(d, IND_EXPR_FLOORDIV, &c), r = ir__no_rule(d);
    if (!d->mod || d->sum || !ind__ok(inner)) return r;
    ind_expr by = ind_expr_arg(inner, 1), whole = ir__mul2(by, d->den);
    if (!ind__ok(whole) || ind_expr_query_kind(whole) == IND_EXPR_ADD) return r;
    ir__sum y = {.context = d->context}, rest = y;
    ir__sum_add(&y, ind_expr_arg(inner, 0), 1);
    for (uint32_t i = 0; i < y.num; i++) {
        ir__term q;
        if (!ir__term_divide(y.t[i], ir__term_of(whole), &q)) ir__sum_push(&rest, y.t[i]);
    }
    if (!y.failed && !rest.failed && rest.num < y.num) {
        ind_expr quotient = ir__divide_nonzero(ir__sum_build(&rest), by, false);
        r = ir__modulo(ind_expr_add(quotient, ind_int(d->context, c)), d->den);
    }
    ir__sum_free(&y);
    ir__sum_free(&rest);
    return r;
}

/* True if b divides e in form or, for an integer b, by known divisors. */
static bool ir__divides(ir__term b, ir__term e) {
    ir__term q;
    if (ir__term_divide(e, b, &q)) return true;
    return ir__is_const_term(b) && b.c != INT64_MIN && ind_known_multiple(ir__term_expr(e), b.c);
}

/* (c*(x % m) + r) % b = (c*x + r) % b if b divides c*m: x % m differs from x by a multiple of m. */
static ind_expr ir__rule_unnest(ir__division *d) {
    if (!d->mod || d->sum) return ir__no_rule(d);
    for (uint32_t i = 0; i < d->a.num; i++) {
        const uint32_t *f;
        uint32_t self, count = ir__factors(d->a.t[i].m, &f, &self);
        for (uint32_t k = 0; k < count; k++) {
            ind_expr mod = ir__expr_make(d->context, f[k]);
            if (ind_expr_query_kind(mod) != IND_EXPR_MOD) continue;
            ir__term c = {d->a.t[i].c, ir__remove_factor(d->a.t[i].m, mod), 0}, scaled;
            ind_expr m = ind_expr_arg(mod, 1);
            if (!ind__ok(c.m) || ind_expr_query_kind(m) == IND_EXPR_ADD) continue;
            if (!ir__mul_terms(c, ir__term_of(m), &scaled) || !ind__ok(scaled.m) || !ir__divides(d->by, scaled))
                continue;
            d->a.t[i].c = 0;
            ir__sum_add(&d->a, ir__mul2(ir__term_expr(c), ind_expr_arg(mod, 0)), 1);
            return ir__modulo(ir__sum_finish(&d->a), d->den);
        }
    }
    return ir__no_rule(d);
}

/* Splits a = u + s with g dividing u and b, 0 <= s < g. */
static bool ir__small_part(ir__division *d, ir__term g, ind_expr *u, ind_expr *s) {
    ir__sum multiples = {.context = d->context}, rest = multiples;
    for (uint32_t i = 0; i < d->a.num; i++) ir__split_term(d->a.t[i], g, &multiples, &rest);
    bool applies = multiples.num && rest.num && !multiples.failed && !rest.failed;
    if (applies) {
        *u = ir__sum_build(&multiples);
        *s = ir__sum_build(&rest);
        applies = ind__ok(*u) && ind__ok(*s) && ir__in_range(*s, ir__term_expr(g));
    }
    ir__sum_free(&multiples);
    ir__sum_free(&rest);
    return applies;
}

static ind_expr ir__try_small_part(ir__division *d, ir__term g) {
    ind_expr u, s;
    if (!ind__ok(g.m) || ir__term_is_one(g) || !ir__small_part(d, g, &u, &s)) return ir__no_rule(d);
    return d->mod ? ind_expr_add(ir__modulo(u, d->den), s) : ir__divide(u, d->den);
}

/* (g*u + s) // (g*b) = u // b and (g*u + s) % (g*b) = g*(u % b) + s for 0 <= s < g: adding s/g < 1 to the integer u
   does not reach the next multiple. Two g are tried per term: its common factor with b in form, and the integer known
   to divide both. */
static ind_expr ir__rule_small_part(ir__division *d) {
    if (d->sum || d->a.num < 2 || d->a.num > 256) return ir__no_rule(d);
    const int64_t known = ind_known_divisor(d->den);
    ind_expr r = ir__no_rule(d), one = ind_int(d->context, 1);
    for (uint32_t i = 0, tries = 0; i < d->a.num && tries < 8 && ind__ok(one) && !ind__ok(r); i++) {
        ir__term t = d->a.t[i], g = ir__term_gcd(t, d->by);
        if (ir__is_const_term(t)) continue;
        if (!ir__is_const_term(g)) r = ir__try_small_part(d, g);
        ir__term both = {ir__gcd64(ind_known_divisor(ir__term_expr(t)), known), one, 0};
        if (!ind__ok(r)) r = ir__try_small_part(d, both);
        tries += !ir__is_const_term(g) || both.c > 1;
    }
    return r;
}

/* The same for a divisor c*p, a monomial c times a sum p: with g = c, or with g = p and a = p*u + s by long
   division. */
static ind_expr ir__rule_small_part_of_sum(ir__division *d) {
    if (!d->sum || d->a.num > 256) return ir__no_rule(d);
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ir__term content = den.num && !den.failed ? ir__sum_content(&den, den.t[0]) : d->by;
    if (content.c < 0) content.c = content.c == INT64_MIN ? 1 : -content.c;
    ind_expr p = den.failed ? ir__no_rule(d) : ir__sum_divided(&den, content), r = ir__no_rule(d), u, s;
    ir__sum_free(&den);
    if (!ind__ok(p) || !ind__ok(content.m) || ir__term_is_one(content)) return r;
    if (ir__small_part(d, content, &u, &s))
        return d->mod ? ind_expr_add(ir__modulo(u, d->den), s) : ir__divide(u, d->den);
    if (ir__proven_sign(p) != 1) return r;
    if (!ir__long_division(&d->a, p, &u, &s)) return r;
    if (!ir__in_range(s, p)) { /* the long division subtracted one p too many */
        s = ind_expr_add(s, p);
        u = ind_expr_add(u, ind_int(d->context, -1));
        if (!ind__ok(s) || !ind__ok(u) || !ir__in_range(s, p)) return r;
    }
    ind_expr c = ir__term_expr(content);
    return d->mod ? ind_expr_add(ir__mul2(p, ir__divide_nonzero(u, c, true)), s) : ir__divide_nonzero(u, c, false);
}

/* k times the sum; k * f becomes x in each term with the factor f = x/k. */
static ind_expr ir__scaled_by(const ir__sum *s, ind_expr f, int64_t k, ind_expr x) {
    ir__sum out = {.context = s->context};
    for (uint32_t i = 0; i < s->num; i++) {
        ind_expr without = ir__remove_factor(s->t[i].m, f);
        ind_expr t = ind__ok(without) ? ir__mul2(ir__mul_int(without, s->t[i].c), x)
                                      : ir__mul2(ir__term_expr(s->t[i]), ind_int(s->context, k));
        ir__sum_add(&out, t, 1);
    }
    return ir__sum_finish(&out);
}

/* a // b = (k*a) // (k*b) with k > 0, if x then cancels: one side has an exact quotient x/k, the other a factor x. s //
   (s // k) = k and (s // k)*y // s = y // k if k divides s. */
static ind_expr ir__rule_exact_scale(ir__division *d) {
    if (d->mod) return ir__no_rule(d);
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ind_expr r = ir__no_rule(d);
    for (uint32_t i = 0; i < d->a.num + den.num && i < 16 && !den.failed && !ind__ok(r); i++) {
        int64_t k;
        ind_expr x, f = ir__exact_factor(i < den.num ? den.t[i] : d->a.t[i - den.num], &k, &x);
        if (!ind__ok(f)) continue;
        ind_expr a = ir__scaled_by(&d->a, f, k, x), b = ir__scaled_by(&den, f, k, x);
        ir__sum top = {.context = d->context}, bottom = top;
        ir__sum_add(&top, a, 1);
        ir__sum_add(&bottom, b, 1);
        bool ok = !top.failed && !bottom.failed && bottom.num;
        ir__term g = ok ? ir__sum_content(&top, ir__sum_content(&bottom, bottom.t[0])) : d->by;
        if (g.c < 0) g.c = g.c == INT64_MIN ? 1 : -g.c;
        if (ok && ind__ok(g.m) && !ir__is_const_term(g))
            r = ir__divide_nonzero(ir__sum_divided(&top, g), ir__sum_divided(&bottom, g), false);
        ir__sum_free(&top);
        ir__sum_free(&bottom);
    }
    ir__sum_free(&den);
    return r;
}

/* a // b = -1 - (-a - 1) // b and a % b = b - 1 - (-a - 1) % b for b > 0: n = -a - 1 has n = b*q + r with 0 <= r < b,
   so a = b*(-1 - q) + (b - 1 - r). The canonical numerator is the one proven nonnegative, else the one whose first term
   is positive. They are compared in their final form: if g divides b and all of a but the integer, SMALL_PART turns -a
   - 1 into -a - g. */
static ind_expr ir__rule_flip(ir__division *d) {
    bool negative = false;
    if (ir__exact_division(d)) return ir__no_rule(d); /* handled as -a // b = -(a // b) */
    for (uint32_t i = 0; i < d->a.num; i++) {
        if (d->a.t[i].c == INT64_MIN) return ir__no_rule(d);
        negative = negative || d->a.t[i].c < 0;
    }
    ind_expr a = ir__sum_build(&d->a), one = ind_int(d->context, 1);
    int64_t b, lo;
    ind_expr_bounds(a, &lo, NULL);
    if (!ind__ok(a) || !ind__ok(one) || lo >= 0 || (!negative && lo == INT64_MIN)) return ir__no_rule(d);
    int64_t g = ind_known_divisor(d->den);
    for (uint32_t i = 0; i < d->a.num; i++)
        if (!ir__is_const_term(d->a.t[i])) g = ir__gcd64(g, ind_known_divisor(ir__term_expr(d->a.t[i])));
    ind_expr mirror = ind_expr_sub(ind_expr_neg(a), one), shifted = ind_expr_sub(mirror, ind_int(d->context, g - 1));
    if (ind_expr_is_int(d->den, &b)) shifted = ind_expr_add(shifted, d->den);
    if (!ind__ok(shifted)) return ir__no_rule(d);
    bool here = ir__prove_ge0(a), there = ir__prove_ge0(shifted);
    if (here == there ? !ir__leads_negative(&d->a) : here) return ir__no_rule(d);
    /* after long division by a sum, the mirror may add the removed terms back, endlessly: so it must be in range or
       have no more terms */
    bool inside = d->sum && ir__in_range(mirror, d->den);
    if (d->sum && !inside && ir__num_terms(mirror) > ir__num_terms(a)) return ir__no_rule(d);
    ind_expr r = inside ? (d->mod ? mirror : ind_int(d->context, 0)) : ir__divide_again(d, mirror);
    return ind_expr_sub(d->mod ? ind_expr_sub(d->den, one) : ind_int(d->context, -1), r);
}

typedef struct ir__division_rule {
    ind__expr_rule id;
    bool any_sign; /* holds for negative divisors too */
    ind_expr (*apply)(ir__division *d);
} ir__division_rule;

/* In this order; the first that applies is used. Rules that drop terms come first. */
static const ir__division_rule ir__division_rules[] = {
    {IND__EXPR_RULE_DIVIDE_ZERO, true, ir__rule_zero},
    {IND__EXPR_RULE_DIVIDE_BY_ONE, true, ir__rule_one},
    {IND__EXPR_RULE_MULTIPLES, true, ir__rule_multiples},
    {IND__EXPR_RULE_IN_RANGE, false, ir__rule_in_range},
    {IND__EXPR_RULE_EXACT_COEFFICIENT, false, ir__rule_exact_coefficient},
    {IND__EXPR_RULE_LONG_DIVISION, true, ir__rule_long_division},
    {IND__EXPR_RULE_REDUCE, false, ir__rule_reduce},
    {IND__EXPR_RULE_COMMON_FACTOR, true, ir__rule_common_factor},
    {IND__EXPR_RULE_CONSTANT, true, ir__rule_constant},
    {IND__EXPR_RULE_RESIDUE, true, ir__rule_residue},
    {IND__EXPR_RULE_NESTED, false, ir__rule_nested},
    {IND__EXPR_RULE_FLOOR_OF_MOD, false, ir__rule_of_mod},
    {IND__EXPR_RULE_FLOOR_MULTIPLES, true, ir__rule_floor_multiples},
    {IND__EXPR_RULE_UNNEST, true, ir__rule_unnest},
    {IND__EXPR_RULE_SMALL_PART, false, ir__rule_small_part},
    {IND__EXPR_RULE_SMALL_PART, false, ir__rule_small_part_of_sum},
    {IND__EXPR_RULE_EXACT_SCALE, true, ir__rule_exact_scale},
    {IND__EXPR_RULE_FLIP, false, ir__rule_flip},
};

static ind_expr ir__run_rules(ind_expr a, ind_expr b, bool mod) {
    ind_context *c = a.context;
    ir__division d = {.context = c, .a = {.context = c}, .den = b, .mod = mod, .sign = ir__proven_sign(b)};
    d.sum = ind_expr_query_kind(b) == IND_EXPR_ADD;
    d.by = d.sum ? (ir__term){1, b, 0} : ir__term_of(b);
    ir__sum_add(&d.a, a, 1);
    ir__sum_normalise(&d.a);
    ind_expr r = ir__expr_none(c);
    bool ok = !d.a.failed && ind__ok(d.by.m), done = false;
    const size_t count = sizeof ir__division_rules / sizeof *ir__division_rules;
    bool deep = c->interner->dividing++ >= IND__MAX_RULES;
    for (size_t i = 0; ok && !done && !deep && !d.a.failed && i < count; i++) {
        const ir__division_rule *rule = &ir__division_rules[i];
        if (!rule->any_sign && d.sign != 1) continue;
        uint32_t failures = ind__state_of(c)->failures;
        ind__state_of(c)->quiet++; /* a rewriting that overflows does not apply */
        r = rule->apply(&d);
        ind__state_of(c)->quiet--;
        ok = ind__ok(r) || failures == ind__state_of(c)->failures;
        done = ind__ok(r);
        if (done) ir__fire(c, rule->id);
    }
    c->interner->dividing--;
    ir__sum_free(&d.a);
    uint32_t arg[2] = {a.id, b.id};
    return !ok || done ? r : ir__intern(c, mod ? IND_EXPR_MOD : IND_EXPR_FLOORDIV, arg, 2, 0);
}

static ind_expr ir__make_floordiv(ind_expr a, ind_expr b) {
    return ir__run_rules(a, b, false);
}

static ind_expr ir__make_mod(ind_expr a, ind_expr b) {
    return ir__run_rules(a, b, true);
}

/* a // b for a nonzero b, which is not proven negative unless ir__divide_nonzero could not negate. */
static ind_expr ir__divide(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y;
    if (ind_expr_is_int(b, &y) && ind_expr_is_int(a, &x))
        return x == INT64_MIN && y == -1 ? ir__fail_overflow(a.context) : ind_int(a.context, ir__floor_div(x, y));
    return ir__cached(IND_EXPR_FLOORDIV, a, b, ir__make_floordiv);
}

static ind_expr ir__modulo(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y;
    if (ind_expr_is_int(b, &y) && ind_expr_is_int(a, &x)) return ind_int(a.context, ir__floor_mod(x, y));
    return ir__cached(IND_EXPR_MOD, a, b, ir__make_mod);
}

static bool ir__check_divisor(ind_expr b) {
    if (ir__proven_sign(b)) return true;
    char text[128];
    ind_expr_print(b, text, sizeof text);
    if (ind_expr_is_int(b, NULL))
        ind__fail(b.context, IND_ERROR_INVALID_ARGUMENT, "division by zero");
    else
        ind__fail(b.context, IND_ERROR_INVALID_ARGUMENT, "division by %s, which may be zero", text);
    return false;
}

ind_expr ind_expr_floordiv(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) && ir__check_divisor(b) ? ir__divide_nonzero(a, b, false) : ir__expr_none(a.context);
}

ind_expr ind_expr_mod(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) && ir__check_divisor(b) ? ir__divide_nonzero(a, b, true) : ir__expr_none(a.context);
}

ind_expr ind_expr_ceildiv(ind_expr a, ind_expr b) {
    bool failed;
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_expr minus = ir__quiet_neg(a, &failed);
    if (ind__ok(minus) || failed) return ind_expr_neg(ind_expr_floordiv(minus, b));
    return ind_expr_add(ind_expr_floordiv(a, b), ind_expr_ne(ind_expr_mod(a, b), ind_int(a.context, 0)));
}

ind_expr ind_expr_modular(ind_expr x, ind_expr d, ind_expr m) {
    return ind_expr_mod(ind_expr_floordiv(x, d), m);
}
