/*
 * Runs the blocks of one launch, one after another, on the calling thread. Not reentrant: the driver holds its lock
 * around it.
 */
#ifndef IND_EMULATION_EXECUTION_H
#define IND_EMULATION_EXECUTION_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "ind_emulation_abi.h"

namespace emulation {

struct launch {
    const char *name;
    const ind_emulation::kernel *kernel;
    const ind_emulation::module *module;
    void **arguments;
    ind_emulation::index3 grid, block;
    unsigned dynamic_shared;
    bool dependent; /* programmatic dependent launch: every thread must wait for the previous launch */
    bool (*on_device)(uintptr_t address, size_t bytes); /* the driver allocated it on the device */
};

/* False when the launch went wrong (divergence, trap, misuse of a collective); `error` then says what and where. */
bool run_launch(const launch &what, std::string &error);

extern const ind_emulation::runtime runtime_table;

/* True where the process runs with AddressSanitizer. */
bool sanitized();

} // namespace emulation

#endif
