#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#endif
/* inductor_runtime.h - compiles the kernels of a plan and runs them, on a GPU through the driver API and NVRTC (both
   opened at run time), or on the host device, which executes the same schedule.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_RUNTIME_IMPLEMENTATION
       #include "inductor_runtime.h"

   Link with -lm -lpthread -ldl. No CUDA header is needed to compile and no CUDA library to link.

   A kernel's variants are guarded by conditions on sizes and on pointer alignment. The variant that the hints select
   is compiled with the module. Any other is compiled once for all threads, by the first launch whose sizes and
   pointers select it. ind_compile_desc.all_variants compiles all with the module.

   It does not copy between devices, or use a device other than the context's.

   IND_RUNTIME_ONLY, defined before the header, leaves all of this out, and the other headers: what remains runs models
   that `ind export` wrote as C (>>exported). With INDUCTOR_RUNTIME_IMPLEMENTATION it creates that implementation.

   Contents: >>config >>status >>exported >>library >>memory >>module >>verdict >>run >>graph >>profile >>tune >>pack
   >>internal
   implementation: >>platform >>symbols >>check >>nvrtc >>pack >>module >>memory >>sizes >>instance >>launch >>run
   >>host-device >>cuda-device >>prepared >>capture >>profile >>tune >>readiness >>cublaslt
*/
#ifdef IND_RUNTIME_ONLY
#ifndef INDUCTOR_EXPORTED_H
#define INDUCTOR_EXPORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef INDUCTOR_IR_H
//@ runtime/exported/prefix.h
//@ ir/base/config.h
//@ ir/base/status.h
#endif
//@ runtime/exported/exported.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_EXPORTED_H */

#ifdef INDUCTOR_RUNTIME_IMPLEMENTATION
#ifndef INDUCTOR_EXPORTED_IMPLEMENTATION_DONE
#define INDUCTOR_EXPORTED_IMPLEMENTATION_DONE

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif

//@ runtime/library.c
//@ runtime/driver.c
//@ runtime/exported/open.c
//@ runtime/exported/weights.c
//@ runtime/exported/bind.c
//@ runtime/exported/launch.c

#endif /* INDUCTOR_EXPORTED_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION */
#else /* IND_RUNTIME_ONLY */
#include "inductor_codegen_cuda.h"
#ifndef INDUCTOR_RUNTIME_H
#define INDUCTOR_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

//@ runtime/prefix.h
//@ runtime/runtime.h
//@ runtime/internal.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_RUNTIME_H */

/* =============================================================================================================== */
#ifdef INDUCTOR_RUNTIME_IMPLEMENTATION
#ifndef INDUCTOR_RUNTIME_IMPLEMENTATION_DONE
#define INDUCTOR_RUNTIME_IMPLEMENTATION_DONE

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
/* Vectors of x86. Not for Windows with gcc, which does not align them on the stack there. */
#if IND__GNU && (defined(__x86_64__) || defined(__i386__)) && (!defined(_WIN32) || defined(__clang__))
#define IND__HOST_X86 1
#include <immintrin.h>
#else
#define IND__HOST_X86 0
#endif

//@ runtime/library.c
//@ runtime/platform.c
//@ runtime/files.c
//@ runtime/workers.c
//@ runtime/driver.c
//@ runtime/symbols.c
//@ runtime/check.c
//@ runtime/device.c
//@ runtime/nvrtc.c
//@ runtime/pack_targets.c
//@ runtime/pack.c
//@ runtime/module.c
//@ runtime/memory.c
//@ runtime/sizes.c
//@ runtime/instance.c
//@ runtime/launch.c
//@ runtime/bindings.c
//@ runtime/run.c
//@ runtime/host/prepare.c
//@ runtime/host/points.c
//@ runtime/host/kernel.c
//@ runtime/host/scan.c
//@ runtime/host/matmul.c
//@ runtime/host/packed.c
//@ runtime/host/packed_x86.c
//@ runtime/host/packed_tile.c
//@ runtime/host/tile.c
//@ runtime/host/launch.c
//@ runtime/cuda/entries.c
//@ runtime/cuda/variants.c
//@ runtime/cuda/prepare.c
//@ runtime/cuda/late.c
//@ runtime/cuda/offline.c
//@ runtime/cuda/ahead.c
//@ runtime/prepared.c
//@ runtime/capture.c
//@ runtime/profile.c
//@ runtime/tune.c
//@ runtime/readiness.c
//@ runtime/cublaslt/library.c
//@ runtime/cublaslt/plans.c
//@ runtime/cublaslt/launch.c

#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION */
#endif /* IND_RUNTIME_ONLY */
