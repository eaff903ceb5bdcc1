/* Shows the library in a C++17 engine that uses the CUDA runtime: it brings its allocator, its logger, its stream and
   its device memory, and its copies run on the same stream. The library uses the context of the CUDA runtime. Without a
   GPU, or built without WITH_CUDART, the engine uses the host device. */
#include "inductor.h" /* the implementation is C: another file defines INDUCTOR_IMPLEMENTATION */

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>
#ifdef WITH_CUDART
#include <cuda_runtime_api.h>
#define SUCCEEDS(call) ((call) == cudaSuccess)
#else
#define SUCCEEDS(call) false
using cudaStream_t = void *;
#endif

namespace {

/* The engine's stream and device memory. */
class Device {
  public:
    Device() : gpu_(SUCCEEDS(cudaStreamCreate(&stream_))) {
    }
    ~Device() {
        (void)(gpu_ && SUCCEEDS(cudaStreamDestroy(stream_)));
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    bool is_gpu() const {
        return gpu_;
    }
    void *stream() const {
        return stream_;
    }

    void *allocate(size_t bytes) {
        void *memory = nullptr;
        if (!gpu_) memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
        if (gpu_ ? !SUCCEEDS(cudaMallocAsync(&memory, bytes, stream_)) : !memory) throw std::bad_alloc();
        return memory;
    }
    void release(void *memory) {
        if (!gpu_) std::free(memory);
        (void)(gpu_ && SUCCEEDS(cudaFreeAsync(memory, stream_)));
    }
    void copy(void *to, const void *from, size_t bytes) {
        if (!gpu_) std::memcpy(to, from, bytes);
        if (gpu_ && !SUCCEEDS(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_)))
            throw std::runtime_error("a copy failed");
    }
    void wait() {
        if (gpu_ && !SUCCEEDS(cudaStreamSynchronize(stream_))) throw std::runtime_error("the stream failed");
    }

  private:
    cudaStream_t stream_ = nullptr;
    bool gpu_;
};

/* The library may call these from several threads. */
void *heap_allocate(size_t bytes, void *live) {
    ++*static_cast<std::atomic<long> *>(live);
    return std::malloc(bytes);
}
void heap_release(void *memory, void *live) {
    --*static_cast<std::atomic<long> *>(live);
    std::free(memory);
}
void log_line(int level, const char *text, void *) {
    std::fprintf(stderr, "inductor %d: %s\n", level, text);
}

using Context = std::unique_ptr<ind_context, decltype(&ind_context_destroy)>;
using Instance = std::unique_ptr<ind_instance, decltype(&ind_instance_destroy)>;

void check(ind_status status, const char *message) {
    if (status) throw std::runtime_error(message);
}

/* Normalises rows: y = layer_norm(x). Returns the largest difference to plain C++. */
double run(Device &device, ind_context *context) {
    constexpr int64_t rows = 6, width = 256;
    ind_graph *g = ind_graph_create(context, "engine");
    ind_size(g, "B in [1, 64] hint 8");
    ind_output(g, "y", ind_layer_norm(ind_input(g, "x", "f32[B, 256]"), 1, IND_NO_TENSOR, IND_NO_TENSOR, 1e-5));
    ind_module *module = nullptr;
    check(ind_compile(g, nullptr, &module), ind_error(context));
    int64_t workspace = 0;
    check(ind_formula_eval(module, ind_module_workspace(module), "B=64", &workspace), ind_error(context));
    void *const space = device.allocate(static_cast<size_t>(workspace) + 256);
    const ind_instance_desc desc = {space, static_cast<size_t>(workspace) + 256};
    ind_instance *created = nullptr;
    check(ind_instance_create(module, &desc, &created), ind_error(context));
    const Instance instance(created, ind_instance_destroy);

    std::vector<float> x(rows * width), y(rows * width);
    for (size_t i = 0; i < x.size(); i++) x[i] = std::sin(0.37f * static_cast<float>(i)) * 3 + 1;
    void *const memory[] = {device.allocate(x.size() * sizeof(float)), device.allocate(y.size() * sizeof(float))};
    ind_launch_desc launch = {};
    launch.stream = device.stream();
    launch.pointers = memory;
    launch.sizes_v = &rows;
    device.copy(memory[0], x.data(), x.size() * sizeof(float)); /* before and after the launch, on its stream */
    check(ind_launch(instance.get(), &launch), ind_instance_error(instance.get()));
    device.copy(y.data(), memory[1], y.size() * sizeof(float));
    device.wait();
    for (void *m : {memory[0], memory[1], space}) device.release(m);

    double worst = 0;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < width; i++) mean += x[r * width + i] / double(width);
        for (int64_t i = 0; i < width; i++) square += std::pow(x[r * width + i] - mean, 2) / double(width);
        for (int64_t i = 0; i < width; i++)
            worst =
                std::fmax(worst, std::fabs((x[r * width + i] - mean) / std::sqrt(square + 1e-5) - y[r * width + i]));
    }
    return worst;
}

} // namespace

int main() try {
    Device device;
    std::atomic<long> live{0}; /* blocks of the library in host memory */
    ind_context_desc desc = {};
    desc.allocator = {heap_allocate, heap_release, &live};
    desc.log = {log_line, nullptr};
    desc.log_level = 1;
    desc.device = device.is_gpu() ? IND_DEVICE_CUDA : IND_DEVICE_HOST;
    ind_context *created = nullptr;
    check(ind_context_create(&desc, &created), "no memory for a context");
    Context context(created, ind_context_destroy);
    const double worst = run(device, context.get());
    context.reset();
    std::printf("%s: largest difference to plain C++ %.2g, %ld blocks leaked\n", device.is_gpu() ? "GPU" : "host",
                worst, live.load());
    return !(worst < 1e-5) || live != 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "failed: %s\n", e.what());
    return 1;
}
