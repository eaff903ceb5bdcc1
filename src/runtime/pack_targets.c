/* ---- targets in a kernel pack: those for which its kernels were planned. A kernel is found by its source, and the
   source depends on figures such as the number of SMs, which differ between devices of one architecture. So a module is
   planned for a target of the pack, if the device can run its kernels. */

#define IND__PACK_MAGIC 0x0a4b434150444e49ull /* "INDPACK\n" */

enum { RT__TARGET_FIGURES = sizeof(ind_target) / sizeof(int32_t) };

/* A target in a file: its figures in the order of the struct, the flags `specific` and `ptx` as one of them. */
typedef struct rt__pack_target {
    uint64_t checksum; /* of this struct with checksum 0 */
    int32_t figure[RT__TARGET_FIGURES + RT__TARGET_FIGURES % 2];
} rt__pack_target;

static uint64_t rt__target_checksum(const rt__pack_target *t) {
    rt__pack_target copy = *t;
    copy.checksum = 0;
    return ind__hash(&copy, sizeof copy, IND__PACK_MAGIC);
}

static rt__pack_target rt__write_target(const ind_target *t) {
    rt__pack_target out;
    memset(&out, 0, sizeof out);
    memcpy(out.figure, t, sizeof *t);
    out.figure[offsetof(ind_target, specific) / sizeof(int32_t)] = t->specific | t->ptx << 1; /* without padding */
    out.checksum = rt__target_checksum(&out);
    return out;
}

/* Reads a record of so many bytes. Returns false if it is damaged or not of this version. */
static bool rt__read_target(ind_target *t, const char *data, uint32_t bytes) {
    rt__pack_target in;
    if (bytes != sizeof in) return false;
    memcpy(&in, data, sizeof in);
    for (size_t i = 0; i < offsetof(ind_target, thresholds) / sizeof(int32_t); i++)
        if (in.figure[i] < 0) return false;
    if (rt__target_checksum(&in) != in.checksum) return false;
    const size_t flag = offsetof(ind_target, specific) / sizeof(int32_t);
    const int flags = in.figure[flag];
    in.figure[flag] = 0;
    memcpy(t, in.figure, sizeof *t);
    t->specific = flags & 1;
    t->ptx = flags >> 1 & 1;
    ind__target_defaults(t);
    return t->sm >= 80;
}

/* Adds the target, unless the context has it. */
static ind_status rt__add_target(ind_context *c, rt__runtime *r, const ind_target *t, bool from_pack) {
    const uint64_t sum = rt__write_target(t).checksum;
    for (uint32_t i = 0; i < r->compiled.num_targets; i++) {
        rt__made_for *x = &r->compiled.target[i];
        if (rt__write_target(&x->target).checksum != sum) continue;
        x->from_pack |= from_pack;
        return IND_OK;
    }
    rt__made_for *at = IND__PUSH(c, rt__made_for, r->compiled.target, r->compiled.num_targets, r->compiled.cap_targets);
    if (!at) return IND_ERROR_OUT_OF_MEMORY;
    *at = (rt__made_for){.target = *t, .from_pack = from_pack};
    return IND_OK;
}

/* True if kernels that were planned for `made` run on the device. */
static bool rt__target_fits(const ind_target *made, const ind_target *device) {
    const bool runs = made->ptx ? made->sm <= device->sm && !made->specific
                                : made->sm == device->sm && made->specific == device->specific;
    return runs && made->num_sms <= device->num_sms && made->shared_per_block <= device->shared_per_block &&
           made->shared_per_sm <= device->shared_per_sm && made->max_cluster <= device->max_cluster;
}

/* True if the device had better run kernels of a than of b: cubins rather than PTX, PTX of a later architecture, and
   those for more SMs. */
static bool rt__target_is_better(const ind_target *a, const ind_target *b) {
    if (a->ptx != b->ptx) return b->ptx;
    return a->sm != b->sm ? a->sm > b->sm : a->num_sms > b->num_sms;
}

/* The target to plan for: the best of the pack's targets that the device can run; else the device's. */
static const ind_target *rt__planned_target(const rt__runtime *r, const ind_target *device) {
    const ind_target *best = NULL;
    for (uint32_t i = 0; i < r->compiled.num_targets; i++) {
        const rt__made_for *x = &r->compiled.target[i];
        if (!x->from_pack || !rt__target_fits(&x->target, device)) continue;
        if (!best || rt__target_is_better(&x->target, best)) best = &x->target;
    }
    return best ? best : device;
}
