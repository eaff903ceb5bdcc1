static void cg__mark_front(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    if (d->plan->resident[used] & IND__CG_MADE) d->plan->resident[used] |= IND__CG_FRONT;
}

/* The front of a pass: values of earlier passes (IND__CG_MADE) that it uses directly. They are kept in registers if
   that takes fewer registers than the loads that they are computed from, or saves expensive work. */
static void cg__mark_resident_front(cg__decider *d, const cg__pass *s) {
    int values = 0, loads = 0;
    bool expensive = false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        if (cg__reduces_in(&d->w, i, s)) cg__each_use(&d->w, i, cg__mark_front, d);
        if (!d->w.needed[i] || !(d->plan->varies[i] & cg__r_mask(&d->w))) continue;
        if (!(d->plan->resident[i] & IND__CG_MADE))
            cg__each_use(&d->w, i, cg__mark_front, d);
        else
            expensive |= cg__expensive(inst);
        loads += inst->op == IND_LOOP_LOAD && !cg__repeats(&d->w, i);
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        values += d->plan->resident[i] & IND__CG_FRONT && cg__inst(&d->w, i)->op != IND_LOOP_LOAD && !d->w.value[i];
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool able = d->plan->resident[i] & IND__CG_FRONT && cg__inst(&d->w, i)->op != IND_LOOP_LOAD &&
                    cg__inst(&d->w, i)->op != IND_LOOP_INDIRECT;
        d->plan->resident[i] &= (uint8_t)~IND__CG_FRONT;
        if (!able || d->w.value[i] || !(expensive || values < loads)) continue;
        d->plan->resident[i] |= IND__CG_RESIDENT;
        d->w.value[i] = ""; /* later passes search no further */
    }
}

/* Chooses which values of the row stay in registers between passes: fronts (see above), and loads that several passes
   still need. The search from the values that a pass computes stops at finished reductions. */
static void cg__choose_resident(cg__decider *d) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int n = cg__passes(&d->w, pass);
    uint32_t innermost = d->plan->domain.rrank ? 1u << (cg__num_vars(&d->w) - 1) : 0, num = d->w.body->num_inst;
    memset(d->plan->resident, 0, num);
    for (uint32_t i = 1; i < num; i++)
        if (cg__inst(&d->w, i)->op == IND_LOOP_REDUCE) d->w.value[i] = "";
    for (int s = 0; s < n; s++) {
        cg__need_pass(&d->w, &pass[s]);
        cg__mark_resident_front(d, &pass[s]);
        for (uint32_t i = 1; i < num; i++)
            if (d->w.needed[i] && d->plan->varies[i] & innermost && cg__inst(&d->w, i)->op != IND_LOOP_STORE)
                d->plan->resident[i] |= IND__CG_MADE;
    }
    for (int s = 0; s < n; s++) {
        for (uint32_t i = 1; i < num; i++)
            if (d->plan->resident[i] & IND__CG_RESIDENT)
                d->w.value[i] = d->plan->resident[i] & IND__CG_READ ? "" : NULL;
        cg__need_pass(&d->w, &pass[s]);
        for (uint32_t i = 1; i < num; i++) {
            if (!d->w.needed[i]) continue;
            bool load = cg__inst(&d->w, i)->op == IND_LOOP_LOAD && d->plan->varies[i] & innermost;
            if (load && d->plan->resident[i] & IND__CG_READ && !cg__repeats(&d->w, i))
                d->plan->resident[i] |= IND__CG_RESIDENT_LOAD;
            d->plan->resident[i] |= IND__CG_READ;
        }
    }
    for (uint32_t i = 1; i < num; i++) {
        if (cg__inst(&d->w, i)->op == IND_LOOP_REDUCE || d->plan->resident[i] & IND__CG_RESIDENT) d->w.value[i] = NULL;
        d->plan->resident[i] = (d->plan->resident[i] & (IND__CG_RESIDENT | IND__CG_RESIDENT_LOAD)) != 0;
    }
}
