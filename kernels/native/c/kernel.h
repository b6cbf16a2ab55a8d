// What a kernel is. The CPU device calls it with the first byte of its memory, its arguments,
// a range of work units, and memory of the thread. The binding of the operation
// (kernels/devices/wasm/op_table.ts) gives the arguments by their names.
#pragma once
#include "vector.h"

#define UNUSED __attribute__((unused))

/**
 * Begins a kernel: KERNEL(name, x, n) has the arguments args->x and args->n, both doubles. One that
 * is a tensor has its offset in the memory, and AT(x) is its address. `scratch` belongs to the
 * thread.
 */
#define KERNEL(name, ...) \
  typedef struct {        \
    double __VA_ARGS__;   \
  } name##_args;          \
  KERNEL_OF(name, name##_args)

/** The same with a struct of the same file, for kernels that have the same arguments. */
#define KERNEL_OF(name, Args)                                                               \
  __attribute__((visibility("hidden"), noinline)) void name(                                \
    char *base UNUSED, const Args *args, int begin, int end, char *scratch UNUSED,          \
    uint32_t options UNUSED                                                                 \
  )

/** The address of the tensor that is argument `name`. One that is absent has args->name 0. */
#define AT(name) (base + (uint32_t)args->name)

// What the processor has beyond the vectors of the target (NativeCode of kernels/native): AVX-VNNI
// beside AVX2, whether rows from memory come sooner with prefetch instructions, and the unit that
// multiplies bfloat16.
#define VNNI(options) ((int)(options) >> 9)
#define PREFETCHES(options) ((int)(options) >> 8 & 1)
#define UNIT(options) ((int)(options) & 0xff)
