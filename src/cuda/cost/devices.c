/* ------------------------------------------------------------------------------------------------- >>devices */

/* Devices by name, for compilation without one, from NVIDIA's data sheets: SMs, bytes of L2, GB/s of memory (bytes per
   ns), GFLOP/s of f32 and of dense 16-bit tensor cores that sum in f32. For an opened device, its SMs, shared memory
   and L2 are queried; its rates are those of the device with the nearest rate of memory. */
typedef struct cg__device {
    const char *name;
    int sm, num_sms, l2_bytes, memory_bytes_per_ns, f32_flops_per_ns, tensor_flops_per_ns;
} cg__device;

static const cg__device cg__devices[] = {
    {"A100", 80, 108, 40 << 20, 2039, 19500, 312000}, /* 80 GB SXM */
    {"RTX A6000", 86, 84, 6 << 20, 768, 38700, 154800},     {"Jetson AGX Orin", 87, 16, 4 << 20, 204, 5300, 42500},
    {"L4", 89, 58, 48 << 20, 300, 30300, 121000},           {"L40S", 89, 142, 96 << 20, 864, 91600, 362000},
    {"RTX 4090", 89, 128, 72 << 20, 1008, 82600, 165200},   {"H100", 90, 132, 50 << 20, 3350, 67000, 989000}, /* SXM */
    {"H200", 90, 132, 50 << 20, 4800, 67000, 989000},                                                         /* SXM */
    {"B200", 100, 148, 126 << 20, 8000, 75000, 2250000},    {"B300", 103, 148, 126 << 20, 8000, 75000, 2250000},
    {"RTX 5090", 120, 170, 96 << 20, 1792, 104800, 209500},
};

static const cg__device *cg__device_named(const char *name) {
    for (size_t i = 0; i < sizeof cg__devices / sizeof *cg__devices; i++)
        if (!strcmp(cg__devices[i].name, name)) return &cg__devices[i];
    return NULL;
}
