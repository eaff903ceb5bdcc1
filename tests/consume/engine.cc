/* c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I../.. engine.cc library.o -lm -lpthread -ldl
   A C++11 engine that includes the declarations and links the implementation; run also against it as a shared library.
   Brings its own allocator and logger, and a workspace for the intermediates. */
#include "inductor.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Heap {
    long live = 0;
};

void *heap_alloc(size_t bytes, void *user) {
    static_cast<Heap *>(user)->live++;
    return std::malloc(bytes);
}

void heap_free(void *memory, void *user) {
    static_cast<Heap *>(user)->live--;
    std::free(memory);
}

void log_line(int, const char *text, void *user) {
    static_cast<std::string *>(user)->append(text).append("\n");
}

/* y = softmax(x) @ w through an instance with the engine's own workspace. */
int run(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "engine");
    ind_size(g, "B in [1, 64]");
    ind_tensor x = ind_input(g, "x", "f32[B, 8]"), w = ind_input(g, "w", "f32[8, 2]");
    ind_output(g, "y", ind_matmul(ind_softmax(x, -1), w));
    ind_module *m = nullptr;
    if (ind_compile(g, nullptr, &m)) return std::fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    int64_t need = -1;
    if (ind_formula_eval(m, ind_module_workspace(m), "B=3", &need) || need <= 0) return 1;
    std::vector<char> space(need + 256);
    void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(space.data()) + 255) / 256 * 256);
    ind_instance_desc id = {aligned, static_cast<size_t>(need)};
    ind_instance *instance = nullptr;
    if (ind_instance_create(m, &id, &instance)) return 1;
    std::vector<float> xs(24, 1.0f), ws(16, 2.0f), ys(6, -1.0f);
    void *pointers[] = {xs.data(), ws.data(), ys.data()};
    int64_t sizes[] = {3};
    ind_launch_desc launch = ind_launch_desc();
    launch.pointers = pointers;
    launch.sizes_v = sizes;
    if (ind_launch(instance, &launch) || ind_instance_check(instance)) return 1;
    for (float y : ys)
        if (std::fabs(y - 2.0f) > 1e-6f) return 1;
    sizes[0] = 64; /* needs more than the engine gave */
    return ind_launch(instance, &launch) == IND_OK;
}

} // namespace

int main() {
    Heap heap;
    std::string log;
    ind_context_desc desc = ind_context_desc();
    desc.device = IND_DEVICE_HOST;
    desc.log_level = 3;
    desc.allocator = {heap_alloc, heap_free, &heap};
    desc.log = {log_line, &log};
    ind_context *ctx = nullptr;
    if (ind_context_create(&desc, &ctx)) return 1;
    int failed = run(ctx);
    ind_context_destroy(ctx);
    if (failed || heap.live || log.empty()) return std::fprintf(stderr, "failed %d, %ld blocks leaked\n", failed, heap.live), 1;
    return 0;
}
