/* ------------------------------------------------------------------------------------------- >>cuda-device */

/* Returns the entry of a source in the context's table, created if missing, with its cubin if a pack has it. NULL: out
   of memory. */
static ind__kernel_entry *rt__cuda_entry(ind_context *c, rt__runtime *r, const ind__variant *v, const char *arch) {
    uint64_t key[2];
    rt__pack_key(v->source.text, v->source.bytes, arch, key);
    ind__kernel_entry *e = rt__pack_find(r, key);
    if (!e) return rt__pack_add(c, r, key, v->source.entry, arch);
    return rt__pack_fetch(c, r, e) ? NULL : e;
}

/* A job that compiles the variant. option: room for its --gpu-architecture. */
static rt__cuda_job rt__cuda_job_of(const ind_module *m, const ind__variant *v, char option[64]) {
    rt__cuda_arch_option(&m->desc.plan->target, false, option);
    return (rt__cuda_job){.nvrtc = &m->executable->runtime->nvrtc,
                          .source = v->source.text,
                          .name = v->source.entry,
                          .arch_option = option,
                          .ptx = m->desc.plan->target.ptx,
                          .folder = m->context->desc.cuda.source_folder};
}

/* Jobs of a module whose progress is reported. */
typedef struct rt__cuda_batch {
    rt__cuda_job *job;
    ind__progress *progress;
    rt__mutex mutex;
} rt__cuda_batch;

/* Reports that `more` jobs are done, unless the compile was cancelled. Returns whether it goes on. */
static bool rt__cuda_report(rt__cuda_batch *b, int more) {
    ind__progress *p = b->progress;
    rt__mutex_lock(&b->mutex);
    p->done += more;
    if (!p->cancelled) p->cancelled = !p->call.report(p->done, p->num, p->call.user);
    const bool on = !p->cancelled;
    rt__mutex_unlock(&b->mutex);
    return on;
}

static void rt__cuda_job_of_batch(void *arg, int64_t index, int worker) {
    rt__cuda_batch *b = (rt__cuda_batch *)arg;
    rt__mutex_lock(&b->mutex);
    const bool on = !b->progress->cancelled;
    rt__mutex_unlock(&b->mutex);
    if (!on) return;
    rt__cuda_job_run(b->job, index, worker);
    (void)rt__cuda_report(b, 1);
}

/* Runs the jobs on all workers; some do not run if the compile is cancelled. */
static ind_status rt__cuda_run_jobs(ind_module *m, rt__cuda_job *job, uint32_t num) {
    ind__progress *p = &m->desc.progress;
    rt__pool *pool = &m->executable->runtime->pool;
    if (!p->call.report || !num) {
        rt__pool_for(pool, num, rt__cuda_job_run, job);
        return IND_OK;
    }
    rt__cuda_batch b = {.job = job, .progress = p};
    if (!rt__mutex_init(&b.mutex))
        return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    p->num += (int)num;
    if (rt__cuda_report(&b, 0)) rt__pool_for(pool, num, rt__cuda_job_of_batch, &b);
    rt__mutex_destroy(&b.mutex);
    return IND_OK;
}

/* Moves the results of finished jobs to their entries. Reports the first failure. why: of the compile, for the log. */
static ind_status rt__cuda_collect(ind_context *c, rt__cuda_job *job, ind__kernel_entry **entry, uint32_t num,
                                   const char *why) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < num; i++) {
        if (!job[i].program && !job[i].result) continue; /* not run */
        if (!status || !job[i].result) {                 /* of several failures the first is reported */
            ind_status taken = rt__cuda_job_result(c, &job[i], &entry[i]->cubin, &entry[i]->bytes);
            if (!status) status = taken;
            if (!taken)
                ind__log(c, 2, IND_LOG_KERNEL, "%s: compiled for %s in %.0f ms, %llu bytes: %s", job[i].name,
                         entry[i]->arch, job[i].ms, (unsigned long long)entry[i]->bytes, why);
        }
        entry[i]->nvrtc_version = job[i].nvrtc->version;
        rt__cuda_job_free(&job[i]);
    }
    return status;
}

/* Returns the entry of a variant. Compiles it if no module has; *built is then true. Needs no GPU. */
static ind_status rt__cuda_build_entry(ind_module *m, const ind__variant *v, const char *why, ind__kernel_entry **entry,
                                       bool *built) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char arch[16], option[64];
    ind__target_name(&m->desc.plan->target, arch);
    *built = false;
    *entry = rt__cuda_entry(c, r, v, arch);
    if (!*entry) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = (*entry)->cubin ? IND_OK : rt__cuda_open_nvrtc(c, r);
    if (status || (*entry)->cubin) return status;
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    *built = true;
    return rt__cuda_collect(c, &job, entry, 1, why);
}

/* The cubin is copied while no other thread changes the table. */
ind_status ind__module_cubin(ind_module *m, const struct ind__variant *v, void **cubin, size_t *bytes) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    ind__kernel_entry *e = NULL;
    bool built;
    *cubin = NULL;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__pack_read(c, r);
    if (!status) status = rt__add_target(c, r, &m->desc.plan->target, false);
    if (!status) status = rt__cuda_build_entry(m, v, "ind_module_cubin returns it", &e, &built);
    if (!status && !(*cubin = ind__alloc(c, e->bytes))) status = IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        memcpy(*cubin, e->cubin, e->bytes);
        *bytes = e->bytes;
        e->only_tried = false;
    }
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* Compiles entries without a cubin: each distinct source once, on all workers. *missing: their number. */
static ind_status rt__cuda_compile_missing(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                           uint32_t num, const char *why, uint32_t *missing) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char option[64];
    rt__cuda_job *job = (rt__cuda_job *)ind__alloc(c, num * sizeof *job);
    ind__kernel_entry **todo = (ind__kernel_entry **)ind__alloc(c, num * sizeof *todo);
    ind_status status = job && todo ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    uint32_t num_jobs = 0;
    for (uint32_t i = 0; i < num && !status; i++) {
        if (entry[i]->cubin) continue;
        job[num_jobs] = rt__cuda_job_of(m, variant[i], option);
        todo[num_jobs++] = entry[i];
    }
    *missing = num_jobs;
    if (!status && num_jobs) status = rt__cuda_open_nvrtc(c, r);
    if (!status) {
        status = rt__cuda_run_jobs(m, job, num_jobs);
        if (!status) status = rt__cuda_collect(c, job, todo, num_jobs, why);
        if (!status && m->desc.progress.cancelled)
            status = ind__fail(c, IND_ERROR_CANCELLED, "the compile was cancelled after %d of %d kernels",
                               m->desc.progress.done, m->desc.progress.num);
    }
    ind__free(c, job);
    ind__free(c, todo);
    return status;
}

/* Compiles entries without a cubin, and counts all of them: those that were compiled for this launch before, too. */
static ind_status rt__cuda_compile(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant, uint32_t num,
                                   const char *why) {
    uint32_t compiled;
    const ind_status status = rt__cuda_compile_missing(m, entry, variant, num, why, &compiled);
    for (uint32_t i = 0; i < num; i++) {
        compiled += entry[i]->compiled_late;
        entry[i]->compiled_late = false;
    }
    ind__lists_lock(m->context);
    m->desc.stats.num_sources += (int)num;
    m->desc.stats.num_from_pack += (int)(num - compiled);
    ind__lists_unlock(m->context);
    return status;
}

static void rt__cuda_report_resources(ind_context *c, rt__runtime *r, const ind__kernel_entry *e) {
    int registers = 0, local = 0;
    if (r->driver.cuFuncGetAttribute(&registers, IND__CUDA_FUNCTION_REGISTERS, e->function) ||
        r->driver.cuFuncGetAttribute(&local, IND__CUDA_FUNCTION_LOCAL_BYTES, e->function))
        return;
    if (local)
        ind__log(c, 1, IND_LOG_KERNEL, "%s: spills, %d bytes of local memory a thread", e->name, local);
    else
        ind__log(c, 3, IND_LOG_KERNEL, "%s: %d registers a thread", e->name, registers);
}

/* Adds the likely reason to the message of a refused kernel: its compiler is newer than the driver. */
static ind_status rt__cuda_refused(ind_context *c, const rt__runtime *r, const ind__kernel_entry *e,
                                   ind_status status) {
    const int least = rt__least_driver(e), driver = r->driver.version / 1000 * 100 + r->driver.version % 1000 / 10;
    char reason[256];
    if (least <= driver || status == IND_ERROR_OUT_OF_MEMORY) return status;
    snprintf(reason, sizeof reason, "%.200s", ind_error(c));
    return ind__fail(
        c, status,
        "%s: compiled by NVRTC %d.%d, which needs a driver of CUDA %d.%d; this one is of CUDA %d.%d: update "
        "the driver, or name an earlier NVRTC in IND_NVRTC_LIBRARY",
        reason, e->nvrtc_version / 100, e->nvrtc_version % 100, least / 100, least % 100, driver / 100, driver % 100);
}

/* Loads an entry's cubin, once per context. */
static ind_status rt__cuda_load(ind_context *c, rt__runtime *r, ind__kernel_entry *e, const char *name) {
    if (e->function) return IND_OK;
    void *module = NULL, *function = NULL;
    ind_status status = IND__CUDA_CALL(c, r, cuModuleLoadData, (&module, e->cubin));
    if (status) return rt__cuda_refused(c, r, e, status);
    status = IND__CUDA_CALL(c, r, cuModuleGetFunction, (&function, module, name));
    if (status) {
        (void)r->driver.cuModuleUnload(module);
        return status;
    }
    e->module = module;
    e->function = function;
    rt__cuda_report_resources(c, r, e);
    return IND_OK;
}

/* Like rt__cuda_load, but compiles again if the driver refuses a cubin from the pack. */
static ind_status rt__cuda_load_or_compile(ind_module *m, ind__kernel_entry *e, const ind__variant *v) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    ind_status status = rt__cuda_load(c, r, e, v->source.entry);
    if (!status || status == IND_ERROR_OUT_OF_MEMORY || !e->from_pack) return status;
    ind__log(c, 1, IND_LOG_PACK, "the driver refuses kernel %s (%s); it is compiled again", e->name, ind_error(c));
    ind__free(c, e->cubin);
    e->cubin = NULL;
    e->from_pack = false;
    char reason[512];
    snprintf(reason, sizeof reason, "%.500s", ind_error(c));
    status = rt__cuda_open_nvrtc(c, r);
    if (status) {
        char missing[1024];
        snprintf(missing, sizeof missing, "%.1000s", ind_error(c));
        return ind__fail(c, status, "the driver refuses kernel %s of the pack: %s; it cannot be compiled again: %s",
                         e->name, reason, missing);
    }
    char option[64];
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    status = rt__cuda_collect(c, &job, &e, 1, "the driver refused the cubin of the pack");
    return status ? status : rt__cuda_load(c, r, e, v->source.entry);
}

static int64_t rt__most_shared(const ind__variant *v) {
    int64_t lo, most = 0;
    if (ind__ok(v->memory.shared)) ind_expr_bounds(v->memory.shared, &lo, &most);
    return most;
}

/* Opts in to more than 48 KB of shared memory per block, static included: `most` is the maximum over the declared
   ranges. For staged rows with several blocks per SM, also sets the carveout to the sum of those blocks; the driver's
   default may be smaller (softmax of 65536 f32 on an H200, three blocks of 64 KiB: 91 and 96 % of a copy). */
static ind_status rt__cuda_set_shared(ind_module *m, const ind__variant *v, int64_t most, void *function) {
    const rt__runtime *r = m->executable->runtime;
    const ind_target *t = &m->desc.plan->target;
    int fixed = 0;
    if (most <= 0) return IND_OK;
    if (most > t->shared_per_block) most = t->shared_per_block;
    ind_status status =
        IND__CUDA_CALL(m->context, r, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)most));
    if (status || v->strategy != IND_STRATEGY_ROW_STAGED || v->blocks_per_sm < 2) return status;
    status = IND__CUDA_CALL(m->context, r, cuFuncGetAttribute, (&fixed, IND__CUDA_FUNCTION_STATIC_SHARED, function));
    if (status) return status;
    const int64_t all = v->blocks_per_sm * (most + fixed + IND__RT_BLOCK_SHARED) * 100 / t->shared_per_sm + 1;
    return IND__CUDA_CALL(m->context, r, cuFuncSetAttribute,
                          (function, IND__CUDA_FUNCTION_CARVEOUT, all < 100 ? (int)all : 100));
}
