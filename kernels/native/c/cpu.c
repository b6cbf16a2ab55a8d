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

#ifdef __linux__
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
#else
EXPORTED int32_t ask_for_amx(void) { return -1; }
#endif

#ifdef _WIN32
/** What a library there begins with, in place of a C library's. */
int DllMainCRTStartup(void *library, uint32_t reason, void *reserved) {
  (void)library, (void)reason, (void)reserved;
  return 1;
}

/** Touches the pages of a large frame in their order, of rax bytes, as Windows asks for. */
__asm__(
    ".globl ___chkstk_ms\n___chkstk_ms:\n"
    "  push %rcx\n  push %rax\n  cmp $0x1000, %rax\n  lea 24(%rsp), %rcx\n  jb 2f\n"
    "1: sub $0x1000, %rcx\n  test %rcx, (%rcx)\n  sub $0x1000, %rax\n"
    "  cmp $0x1000, %rax\n  ja 1b\n"
    "2: sub %rax, %rcx\n  test %rcx, (%rcx)\n  pop %rax\n  pop %rcx\n  ret\n"
);
#endif
