/* ---- blocks that share rows

   Decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016), combined
   in an order that does not depend on timing. A block takes a ticket. Blocks with earlier tickets have begun and do not
   wait for it, so it may wait for them. It scans the tile of its ticket and publishes the total. The prefix of a tile
   has two parts: the prefix of its group of 32 tiles, which the last tile of the previous group has published, and the
   totals of the group's earlier tiles, one per lane of a warp. (Groups of 64 and 128 were slower on an H200: a tile
   then waits for more of the tiles that began at the same time.)

   Words: the ticket, the number of blocks that are done, then for each scan and row the totals of tiles and of groups.
   The last block clears them, so that each launch finds zeros. */

#define IND__CG_SCAN_GROUP 32

/* Declares the block's row and tile, and pointers to the row's words. */
static void cg__emit_lookback_position(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    int chunk = cg__scan_chunk(w, &p);
    cg__use(w, IND__CG_LOOKBACK);
    ind__textf(&w->code,
               "__shared__ unsigned ticket;\nif (threadIdx.x == 0) ticket = atomicAdd((unsigned *)lookback, 1u);\n"
               "__syncthreads();\nconst unsigned tiles = ((unsigned long long)(%s) + %d) / %d;\n",
               size, chunk - 1 + cg__most_shift(w), chunk);
    ind__textf(&w->code,
               "const int tile = ticket %% tiles;\nconst unsigned row = ticket / tiles, rows = gridDim.x / tiles;\n");
    ind__textf(&w->code,
               "const long long per_row = tiles + tiles / %d + 1;\nunsigned long long *word = lookback + 2;\n",
               IND__CG_SCAN_GROUP);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_scan(w, i)) continue;
        const char *totals = cg__of_scan(w, "totals", i), *groups = cg__of_scan(w, "groups", i);
        const char *words = cg__string(w, "(sizeof(%s) / 4)", cg__scan_state(w, i));
        ind__textf(&w->code, "unsigned long long *const %s = word + row * per_row * %s;\n", totals, words);
        ind__textf(&w->code, "unsigned long long *const %s = %s + tiles * %s;\n", groups, totals, words);
        ind__textf(&w->code, "word += rows * per_row * %s;\n", words);
    }
}

/* Counts the block as done. The result of the atomic is not waited for before the results are stored. */
static void cg__emit_tile_done(ind__writer *w) {
    ind__textf(&w->code,
               "unsigned done = 0;\nif (threadIdx.x == 0) done = atomicAdd((unsigned *)(lookback + 1), 1u);\n");
}

static void cg__emit_tiles_done(ind__writer *w) {
    cg__begin(w, "if (threadIdx.x < 32 && __shfl_sync(0xffffffffu, done, 0) == gridDim.x - 1)");
    ind__textf(&w->code, "for (long long i = threadIdx.x; i < word - lookback; i += 32) lookback[i] = 0;\n");
    cg__end(w);
}

/* Computes the prefix of each of the thread's vectors. */
static void cg__emit_scan_combine(ind__writer *w, const cg__scan_pass *p, int level) {
    int warps = cg__scan_warps(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__runs_at(w, i, level)) continue;
        if (cg__looks_back(w)) {
            ind__textf(&w->code, "ind_scan_tile<%d>(%s, %s, %s, %s, %s, tile, tiles);\n", warps,
                       cg__of_scan(w, "before", i), cg__of_scan(w, "none", i), cg__of_scan(w, "shared", i),
                       cg__of_scan(w, "totals", i), cg__of_scan(w, "groups", i));
            continue;
        }
        const char *shared = cg__of_scan(w, "shared", i);
        if (p->team) {
            shared = p->team == 1 ? cg__string(w, "(%s *)0", cg__scan_state(w, i))
                     : p->turn    ? cg__string(w, "%s[turn]", shared)
                                  : shared;
            ind__textf(&w->code, "ind_scan_team<%d, %d>(%s, %s, %s);\n", p->lanes, p->team, cg__of_scan(w, "before", i),
                       shared, cg__of_scan(w, "carry", i));
            continue;
        }
        if (warps == 1) shared = cg__string(w, "(%s *)0", cg__scan_state(w, i));
        if (p->turn) shared = cg__string(w, "%s[turn]", shared);
        ind__textf(&w->code, "ind_scan_threads<%d, %d>(%s, %s, %s, %s);\n", p->lanes, warps,
                   cg__of_scan(w, "before", i), cg__of_scan(w, "none", i), shared, cg__of_scan(w, "carry", i));
    }
}

/* Writes the scans of one level in one chunk of the row: each thread combines its elements, then their prefix. */
static void cg__emit_scan_level(ind__writer *w, const cg__scan_pass *p, int level) {
    uint32_t num = w->body->num_inst;
    const char *begin = p->single ? "" : "begin + ";
    for (uint32_t i = 1; i < num; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s %s[%d], %s[%d];\n", cg__scan_state(w, i), cg__of_scan(w, "s", i),
                       p->lines * p->run, cg__of_scan(w, "before", i), p->team ? p->run : p->lines);
    cg__begin_lines(w, p, begin);
    cg__begin_neighbours(w, p);
    cg__emit_run_elements(w, p, level);
    if (p->pads) {
        cg__end(w);
        cg__leave_out(w, p, level);
        cg__begin_neighbours(w, p);
    }
    cg__emit_run_combine(w, p, level);
    cg__end(w);
    cg__move_back(w, p);
    for (uint32_t i = 1; i < num && !p->team; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s[k] = %s[k * %d + %d];\n", cg__of_scan(w, "before", i), cg__of_scan(w, "s", i),
                       p->run, p->run - 1);
    cg__end(w);
    for (uint32_t i = 1; i < num && p->team; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "#pragma unroll\nfor (int j = 0; j < %d; j++) %s[j] = %s[%d + j];\n", p->run,
                       cg__of_scan(w, "before", i), cg__of_scan(w, "s", i), (p->lines - 1) * p->run);
    if (level == 1 && !p->single && !cg__looks_back(w))
        cg__start_chunk_loads(
            w, p, IND__CG_LOADED_AHEAD,
            cg__string(w, "begin + %d + ", cg__scan_chunk(w, p))); /* in flight while this chunk is combined */
    cg__emit_scan_combine(w, p, level);
}

/* Like cg__vector_stores, for the elements inside the row. */
static void cg__store_parts(ind__writer *w, const cg__scan_pass *p) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        w->memory[i] = NULL;
        ind__textf(&w->code, "ind_store_part(&%s, y%u, r0, %s);\n", cg__element(w, i), i, p->size_value);
        cg__use(w, IND__CG_VEC_PART);
    }
}

/* Writes the values computed from the scans' results in one chunk. */
static void cg__emit_scan_results(ind__writer *w, const cg__scan_pass *p) {
    bool vectors = p->run == w->variant->vector && p->run > 1;
    cg__begin_lines(w, p, p->single ? "" : "begin + ");
    if (!p->exact && !w->plan->shift && (vectors || p->team))
        ind__textf(&w->code, p->team ? "if (r >= %s) continue;\n" : "if (r0 >= %s) continue;\n", p->size);
    cg__need_scanned(w, p->pass);
    if (vectors) cg__emit_chunk_arrays(w, p->pass);
    if (vectors) cg__vector_sinks(w);
    cg__begin_neighbours(w, p);
    if (w->plan->shift && !p->pads)
        ind__textf(&w->code, "if (r < 0 || r >= %s) continue;\n", p->size);
    else if (!p->exact && !p->pads && !vectors && !p->team)
        ind__textf(&w->code, "if (r >= %s) continue;\n", p->size);
    cg__emit_run_results(w, p, p->levels);
    if (vectors)
        cg__emit_scanned_element(w, p->pass);
    else
        cg__emit_scanned(w, p->pass);
    cg__end(w);
    cg__move_back(w, p);
    if (!p->team) w->var[w->plan->domain.rank] = "r0";
    if (vectors) cg__emit_chunk_adds(w, p->pass);
    if (w->plan->shift)
        cg__store_parts(w, p);
    else if (vectors)
        cg__vector_stores(w);
    cg__end(w);
    w->var[w->plan->domain.rank] = "r";
}

static void cg__emit_scan_chunk(ind__writer *w, const cg__scan_pass *p) {
    const char *begin = p->single ? "" : "begin + ";
    cg__declare_chunk_loads(w, p, IND__CG_LOADED_FIRST);
    cg__start_chunk_loads(w, p, IND__CG_LOADED_FIRST, begin);
    for (int level = 1; level <= p->levels; level++) cg__emit_scan_level(w, p, level);
    if (p->turn) ind__textf(&w->code, "turn ^= 1;\n");
    if (cg__looks_back(w)) cg__emit_tile_done(w);
    cg__emit_scan_results(w, p);
    if (cg__looks_back(w)) cg__emit_tiles_done(w);
}

/* Writes a pass over the row, chunk by chunk. While a chunk is combined and stored, the loads of the next are in
   flight. */
static void cg__emit_scan_chunks(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, s, levels, size);
    if (w->failed) return;
    cg__use(w, p.team ? IND__CG_SCAN_TEAM : IND__CG_SCAN);
    cg__emit_scanned_rows(w, s);
    cg__find_chunk_loads(w, &p);
    p.pads = cg__pads(w);
    int carried = p.team ? (p.run + p.team - 1) / p.team : 1;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->runs[i]) continue;
        const char *state = cg__scan_state(w, i), *none = cg__of_scan(w, "none", i);
        ind__textf(&w->code, "const %s %s = {%s};\n", state, none, cg__scans[cg__scan_kind(w, i)].none);
        if (p.team)
            ind__textf(&w->code, "%s %s[%d];\n#pragma unroll\nfor (int j = 0; j < %d; j++) %s[j] = %s;\n", state,
                       cg__of_scan(w, "carry", i), carried, carried, cg__of_scan(w, "carry", i), none);
        else if (!cg__looks_back(w))
            ind__textf(&w->code, "%s %s = %s;\n", state, cg__of_scan(w, "carry", i), none);
    }
    if (cg__looks_back(w)) {
        ind__textf(&w->code, "const %s begin = (%s)tile * %d;\n", cg__int(w), cg__int(w), cg__scan_chunk(w, &p));
    } else if (!p.single) {
        cg__declare_chunk_loads(w, &p, IND__CG_LOADED_AHEAD);
        cg__start_chunk_loads(w, &p, IND__CG_LOADED_AHEAD, "");
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s begin = 0; begin < %s%s; begin += %d)", cg__int(w), size,
                  w->plan->shift ? " + shift" : "", cg__scan_chunk(w, &p));
    }
    cg__emit_scan_chunk(w, &p);
    if (!p.single && !cg__looks_back(w)) cg__end(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (p.ahead[i]) w->memory[i] = NULL;
}

/* Writes a pass in which each thread loops over its row. */
static void cg__emit_scan_loop(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    cg__emit_scanned_rows(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i])
            ind__textf(&w->code, "%s %s = {%s};\n", cg__scan_state(w, i), cg__of_scan(w, "s", i),
                       cg__scans[cg__scan_kind(w, i)].none);
    ind__textf(&w->code, "#pragma unroll 4\n");
    cg__begin(w, "for (%s r = 0; r < %s; r++)", cg__int(w), size);
    for (int level = 1; level <= levels; level++) {
        cg__need_elements_at(w, level);
        cg__emit(w, IND__CG_ALL_VARS, s->stage);
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (!cg__runs_at(w, i, level)) continue;
            const char *state = cg__of_scan(w, "s", i), *x = cg__of_scan(w, "x", i);
            cg__scan_element(w, i, cg__string(w, "const %s %s = ", cg__scan_state(w, i), x));
            const char *result = cg__is_exclusive(w, i) ? cg__of_scan(w, "t", i) : state;
            if (cg__is_exclusive(w, i))
                ind__textf(&w->code, "const %s %s = %s;\n", cg__scan_state(w, i), result, state);
            ind__textf(&w->code, "%s.combine(%s);\n", state, x);
            cg__scan_results_of(w, i, result);
        }
    }
    cg__emit_scanned(w, s);
    cg__end(w);
}

/* Writes a pass with scans. In C it is a scope, except for the last pass, as the next pass scans again. */
static void cg__emit_scan_pass(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    if (!s->stores) {
        ind__textf(&w->code, "{\n");
        w->code.indent++;
        w->scope++;
    }
    if (w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && !cg__scans_team(w))
        cg__emit_scan_loop(w, s, levels, size);
    else
        cg__emit_scan_chunks(w, s, levels, size);
    if (!s->stores) cg__end(w);
    cg__forget_scans(w);
}

static ind_status cg__emit_scan_kernel(ind__writer *w) {
    const char *size = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]);
    cg__pass last = cg__last_scan_pass(w);
    if (cg__combines(w)) cg__emit_combine_state(w);
    cg__emit_scan_shared(w, size);
    if (cg__looks_back(w)) cg__emit_lookback_position(w, size);
    cg__emit_scan_position(w);
    cg__emit_first_scan_vector(w, size);
    cg__emit_row_values(w);
    for (int stage = 0; stage < last.stage; stage++) {
        cg__pass s = {.stage = stage};
        int levels = cg__find_runs(w, &s);
        if (!levels) {
            cg__emit_pass(w, &s);
            continue;
        }
        cg__begin_pass_states(w, &s);
        cg__emit_scan_pass(w, &s, levels, size);
        cg__end_pass_states(w, &s);
    }
    cg__begin_pass_states(w, &last);
    cg__emit_scan_pass(w, &last, cg__find_runs(w, &last), size);
    cg__emit_scan_end(w);
    return IND_OK;
}
