/* ind_profile.h: the command `ind profile` of ind.c. Each launch runs alone, --repeat times; its time is the median. On
 * a GPU it is compared with its roofline, the predicted time: the longest of a launch, its bytes at the memory's rate
 * and its operations at the arithmetic's rate. A persistent launch has the sum over its kernels, each at least a
 * launch, so it may take less.
 */
#ifndef IND_PROFILE_H
#define IND_PROFILE_H

/* A launch, or the sum of all. */
typedef struct launch_time {
    const char *name;
    double ms, bytes, flops;
    double roofline_ms; /* 0: not known */
} launch_time;

static int upload(session *s) {
    for (int i = 0; i < s->n; i++) {
        tensor *t = &s->t[i];
        size_t bytes = tensor_bytes(t);
        if (t->set) continue;
        if (ind_module_alloc(s->m, bytes, &t->device)) return fail("%s", ind_error(s->ctx));
        if (ind_module_upload(s->m, t->device, t->data, bytes)) return fail("%s", ind_error(s->ctx));
        s->binding[i].data = t->device;
    }
    return 0;
}

/* Adds the predicted times of the kernels to those of their launches. */
static int add_rooflines(session *s, launch_time *launches, int num) {
    const int kernels = ind_module_num_kernels(s->m);
    int launch = -1, runs = -1;
    for (int k = 0; k < kernels; k++) {
        ind_kernel_info info;
        int64_t ns = 0;
        if (ind_module_query_kernel(s->m, k, &info)) return fail("%s", ind_error(s->ctx));
        if (info.launch == k) launch++;
        if (launch >= num) break;
        if (info.launch == k && launches[launch].ms > 0) runs = launch; /* 0: an earlier launch runs it too */
        if (runs < 0 || !info.num_variants) continue;
        if (ind_formula_eval(s->m, info.time_ns, s->sizes, &ns)) return fail("%s", ind_error(s->ctx));
        launches[runs].roofline_ms += (double)ns * 1e-6;
    }
    return 0;
}

static void print_launch(const launch_time *t, bool json) {
    const double rate = t->ms > 0 ? 1e-6 / t->ms : 0; /* per ms to G per s */
    const double percent = t->ms > 0 ? 100 * t->roofline_ms / t->ms : 0;
    if (json) {
        printf("{\"name\": \"%s\", \"ms\": %.6f, \"gb_per_s\": %.3f, \"tflop_per_s\": %.4f", t->name, t->ms,
               t->bytes * rate, t->flops * rate / 1000);
        if (t->roofline_ms > 0) printf(", \"roofline_ms\": %.6f", t->roofline_ms);
        printf("}");
        return;
    }
    printf("%-40s %10.4f ms %10.1f GB/s %9.3f TFLOP/s", t->name, t->ms, t->bytes * rate, t->flops * rate / 1000);
    if (t->ms > 0 && t->roofline_ms > 0) printf(" %5.0f %% of the roofline", percent);
    puts(t->ms > 0 ? "" : "  run by an earlier launch");
}

static void print_profile(const session *s, const launch_time *launches, int num, const launch_time *total) {
    const bool json = s->o->json;
    if (json) printf("{\"device\": \"%s\", \"sizes\": \"%s\", \"kernels\": [", ind_device_text(s->ctx), s->sizes);
    for (int i = 0; i < num; i++) {
        if (json && i) printf(", ");
        print_launch(&launches[i], json);
    }
    if (json) printf("], \"total\": ");
    print_launch(total, json);
    if (json) puts("}");
}

static int print_times(session *s, const ind_kernel_time *times, int num, double total_ms) {
    launch_time total = {.name = "total", .ms = total_ms}, *launches = calloc((size_t)num + 1, sizeof *launches);
    if (!launches) return fail("out of memory");
    for (int i = 0; i < num; i++)
        launches[i] = (launch_time){.name = times[i].name,
                                    .ms = times[i].ms,
                                    .bytes = (double)times[i].bytes_read + (double)times[i].bytes_written,
                                    .flops = times[i].flops};
    const bool cuda = ind_module_query_stats(s->m).device == IND_DEVICE_CUDA;
    const int failed = cuda && add_rooflines(s, launches, num);
    bool known = true; /* of all launches */
    for (int i = 0; i < num; i++) {
        total.bytes += launches[i].bytes;
        total.flops += launches[i].flops;
        total.roofline_ms += launches[i].roofline_ms;
        known &= !(launches[i].ms > 0) || launches[i].roofline_ms > 0;
    }
    if (!known) total.roofline_ms = 0;
    if (!failed) print_profile(s, launches, num, &total);
    free(launches);
    return failed;
}

static int profile(session *s) {
    ind_instance *instance;
    int n = ind_module_query_stats(s->m).num_kernels, count = 0;
    double total_ms = 0;
    ind_kernel_time *times = calloc((size_t)n + 1, sizeof *times);
    ind_launch_desc desc = {.bindings = s->binding, .num_bindings = s->n, .sizes = s->sizes};
    int failed = !times || upload(s);
    if (!failed && ind_instance_create(s->m, NULL, &instance)) failed = fail("%s", ind_error(s->ctx));
    if (!failed) {
        ind_status status = ind_profile(instance, &desc, s->o->repeat, times, n, &count, &total_ms);
        if (!status) status = ind_instance_check(instance);
        const ind_page_desc page = {s->sizes, times, count, total_ms, NULL, 0};
        failed = status       ? fail("%s", ind_instance_error(instance))
                 : s->o->html ? print_page(s->ctx, s->m, s->o, page)
                              : print_times(s, times, count, total_ms);
        ind_instance_destroy(instance);
    }
    free(times);
    return failed;
}

#endif /* IND_PROFILE_H */
