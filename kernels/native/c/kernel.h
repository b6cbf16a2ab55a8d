// What a kernel is: the CPU device calls it with the first byte of its memory, the arguments of the
// operation's binding (kernels/ops/*/wasm.ts), a range of work units and memory of the thread.
#pragma once
#include "vector.h"

#define UNUSED __attribute__((unused))

/**
 * Begins a kernel. `args` has a number for each argument, in the order of the binding; a tensor is
 * its offset in the memory, AT(its name) is its address. `scratch` belongs to the thread.
 */
#define KERNEL(name, Args)                                                                  \
  __attribute__((visibility("hidden"), noinline)) void name(                                \
    char *base UNUSED, const Args *args, int begin, int end, char *scratch UNUSED,          \
    uint32_t options UNUSED                                                                   \
  )

/** The address of the tensor that is argument `name`. */
#define AT(name) (base + (uint32_t)args->name)

// What the processor has beyond the vectors of the target (NativeCode of kernels/native): whether
// rows from memory come sooner with prefetch instructions, and the unit that multiplies bfloat16.
#define PREFETCHES(options) ((int)(options) >> 8)
#define UNIT(options) ((int)(options) & 0xff)
