// Keys and values that queries attend to in decoding, and which of their rows are read ahead.
#pragma once
#include "pack.h"

/** Keys are prefetched so many rows ahead. */
#define AHEAD 32

/** Keys and values that some queries attend to. */
typedef struct {
  const char *k, *v;
  size_t stride;
  int count;
  /** Whether they are bfloat16. */
  int halves;
  /** Whether loops prefetch this head's part of the rows that are AHEAD. */
  int prefetches;
  /** The head's place in a row: whole rows are read before their use. Negative: they are not. */
  ptrdiff_t lead;
  /** The first rows of the next branch, which the last rows of this one prefetch; or NULL. */
  const char *nextK, *nextV;
  int nextCount;
} Keys;

/**
 * The rows that a loop prefetches: row j fetches row j of `own`, from row `turn` on that of `next`,
 * and from row `end` on nothing.
 */
typedef struct {
  const char *own, *next;
  int turn, end;
} Ahead;

static const Ahead NOTHING = { NULL, NULL, 0, 0 };

/** What the rows [j, j + n) of `rows` (keys or values) prefetch; `next` is nextK or nextV. */
static Ahead rows_ahead(const Keys *keys, const char *rows, const char *next, int j, int n) {
  if (!keys->prefetches) return NOTHING;
  const ptrdiff_t stride = (ptrdiff_t)keys->stride;
  const int distance = min(AHEAD, keys->count), rest = keys->count - distance - j;
  const int turn = max(0, min(n, rest));
  return (Ahead){
    .own = rows + (j + distance) * stride, .turn = turn, .next = next - rest * stride,
    .end = next == NULL ? turn : max(turn, min(n, rest + keys->nextCount)),
  };
}

/** The row that row j prefetches. */
INLINE const char *row_ahead(const Ahead *ahead, int j, size_t stride) {
  return (j < ahead->turn ? ahead->own : ahead->next) + (size_t)j * stride;
}

/** Reads a word of every cache line, so that all of them are on their way from memory. */
static void touch(const char *from, size_t bytes) {
  uint32_t sum = 0;
  for (size_t at = 0; at < bytes; at += 64) sum += *(const volatile uint32_t *)(from + at);
  (void)sum;
}

/** Reads the rows [j, j + TILE) of keys and values, with all their key heads. */
static void fetch(const Keys *keys, int j) {
  if (keys->lead < 0) return;
  const size_t from = (size_t)j * keys->stride - (size_t)keys->lead;
  const size_t bytes = (size_t)min(TILE, keys->count - j) * keys->stride;
  touch(keys->k + from, bytes);
  touch(keys->v + from, bytes);
}
