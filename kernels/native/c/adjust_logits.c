// Sampling rules that change single logits (kernels/ops/adjust_logits/spec.ts). Work unit: one row.
#include "elements.h"

/** The number of the lowest bit, which is removed. */
INLINE int take_bit(uint32_t *bits) {
  const int bit = __builtin_ctz(*bits);
  *bits &= *bits - 1;
  return bit;
}

/** Copies a row. It begins anywhere, and aligned stores cross no lines of the cache. */
INLINE void copy_row(const char *from, char *to, size_t bytes) {
  size_t at = 0;
  ONE_BY_ONE for (; at < bytes && (size_t)(to + at) % 32 != 0; at += 4) {
    store1(to + at, load1(from + at));
  }
  EACH(at, bytes, STORE(to, LOAD(from));)
}

/** `seen`, `slots`, `newest` and `allowed` are 0 where they are absent. */
KERNEL(adjust_logits,
  logits, out, vocab, penalty, seen, slots, newest, forbidden, forbiddenCount, allowed
) {
  const char *const logits = AT(logits);
  char *const out = AT(out);
  uint32_t *const seen = (uint32_t *)AT(seen);
  const uint32_t *const slots = (const uint32_t *)AT(slots);
  const uint32_t *const newest = (const uint32_t *)AT(newest);
  const uint32_t *const allowed = (const uint32_t *)AT(allowed);
  const uint32_t *const forbidden = (const uint32_t *)AT(forbidden);
  const int vocab = args->vocab, words = ceil_div(vocab, 32), count = args->forbiddenCount;
  const float penalty = args->penalty;
  for (int row = begin; row < end; row++) {
    const size_t bytes = (size_t)vocab * 4, first = row * bytes;
    copy_row(logits + first, out + first, bytes);
    float *const to = (float *)(out + first);
    if (args->seen != 0) {
      uint32_t *set = seen + (size_t)slots[row] * words;
      if (args->newest != 0) set[newest[row] / 32] |= 1u << (newest[row] & 31);
      for (int w = 0; w < words; w++) {
        for (uint32_t bits = set[w]; bits != 0;) {
          float *l = to + w * 32 + take_bit(&bits);
          *l = *l > 0 ? *l / penalty : *l * penalty;
        }
      }
    }
    if (args->allowed != 0) {
      const uint32_t *set = allowed + (size_t)row * words;
      for (int w = 0; w < words; w++) {
        // The last word has bits of tokens that do not exist.
        const int left = vocab - w * 32;
        for (uint32_t bits = ~set[w] & (left < 32 ? (1u << left) - 1 : ~0u); bits != 0;) {
          to[w * 32 + take_bit(&bits)] = -__builtin_inff();
        }
      }
    }
    for (int j = 0; j < count; j++) to[forbidden[j]] = -__builtin_inff();
  }
}
