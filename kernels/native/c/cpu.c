// What the processor and the system offer. This file is compiled for any x86-64 processor, because
// it runs before it is known which instructions may be used.
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default"), used, noinline))

/** Register 0 to 3 (eax, ebx, ecx, edx) of CPUID. */
EXPORTED uint32_t cpuid(uint32_t leaf, uint32_t subleaf, uint32_t index) {
  uint32_t a, b, c, d;
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(subleaf));
  return index == 0 ? a : index == 1 ? b : index == 2 ? c : d;
}

/** The lower half of XCR0: the registers that the system saves. CPUID must report OSXSAVE. */
EXPORTED uint32_t xgetbv0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/**
 * Asks Linux for the tile registers of AMX (arch_prctl ARCH_REQ_XCOMP_PERM, XFEATURE 18), for all
 * threads of this process. The result is 0 when it gives them.
 */
EXPORTED int32_t ask_for_amx(void) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(158L), "D"(0x1023L), "S"(18L)
                   : "rcx", "r11", "memory");
  return (int32_t)result;
}
