// Kernels that trap, for tests of how the CPU device handles failures. They are a module of their
// own.
#include "kernel.h"

typedef struct {
  double at;
} OneArgs;

/** The device clears new memory with it. */
KERNEL_OF(zero, OneArgs) {
  (void)args, (void)begin, (void)end;
}

/** Traps at unit `at`. */
KERNEL_OF(fail_at, OneArgs) {
  if (begin <= (int)args->at && (int)args->at < end) __builtin_trap();
}

/** Stores which thread it runs in, by the address of its scratch. */
KERNEL_OF(remember, OneArgs) {
  (void)begin, (void)end;
  *(char **)AT(at) = scratch;
}

/** Traps in all other threads. */
KERNEL_OF(fail_elsewhere, OneArgs) {
  (void)begin, (void)end;
  if (*(char *volatile *)AT(at) != scratch) __builtin_trap();
  volatile int *const word = (volatile int *)AT(at);
  for (int i = 0; i < 100000; i++) *word = *word;
}
