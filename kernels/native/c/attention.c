// Forward of attention over a packed batch (kernels/ops/attention/spec.ts).
// Work unit: a block of rows × one key head. Its queries are the query heads of these rows that use
// this key head. Neighbouring branches of a group first attend to their common prefix together,
// then each to its own segment.
#include "log.h"
#include "softmax.h"
#include "kernel.h"

/** A row of the table of keys. */
typedef struct {
  int32_t begin, end;
} Keys;

/** Queries in a table of first keys, with room for a vector that reaches beyond the last one. */
#define FIRST_KEYS (TILE + 16)

typedef struct {
  const char *k, *v;
  size_t keyStride;
  const Segment *segments;
  const uint32_t *rowSegment;
  /** The rows of the block; query (row − first)·group + h is head h of a row. */
  int first, last, group;
  Softmax softmax;
} Block;

/**
 * Two tables for the queries of the block: the first key of their segment that each query attends
 * to, and that of the prefix (or the prefix's end).
 */
static void find_first_keys(const Block *b, int window, int32_t *firstKeys) {
  for (int row = b->first; row < b->last; row++) {
    const Segment *segment = b->segments + b->rowSegment[row];
    const int before = row + 1 - segment->begin; // rows of the segment up to this one
    const int low = row + 1 - min(window, before);
    const int inPrefix = segment->prefixEnd - max(window - before, 0);
    for (int h = 0; h < b->group; h++, firstKeys++) {
      firstKeys[0] = low;
      firstKeys[FIRST_KEYS] = inPrefix;
    }
  }
}

/** Whether none of the queries [from, to) attends to a key before `end`. */
static int none_before(const int32_t *firstKeys, int from, int to, int end) {
  for (int q = from; q < to; q++) {
    if (firstKeys[q] < end) return 0;
  }
  return 1;
}

/** The tile of keys [j, j + count). */
static void take_keys(const Block *b, int j, int count) {
  const size_t offset = (size_t)j * b->keyStride;
  softmax_keys(&b->softmax, b->k + offset, b->v + offset, count);
}

/** With a window: all rows attend to their segments, whose tiles are done last to first. */
static void attend_segments(const Block *b, const int32_t *firstKeys) {
  const int first = b->first, group = b->group;
  for (int row = first; row < b->last;) {
    const Segment *segment = b->segments + b->rowSegment[row];
    const int start = segment->begin, stop = min(segment->end, b->last);
    for (int j = start + (stop - 1 - start) / TILE * TILE; j >= start; j -= TILE) {
      const int n = min(stop - j, TILE);
      const int from = (max(row, j) - first) * group, to = (stop - first) * group;
      if (none_before(firstKeys, from, to, j + n)) break;
      take_keys(b, j, n);
      const Reach reach = {
        .count = n, .causal = 1, .group = group, .shift = j - first, .firstKeys = firstKeys,
        .keyStart = j,
      };
      softmax_attend(&b->softmax, from, to, &reach);
    }
    row = stop;
  }
}

/** All rows attend to their prefixes, which neighbouring branches of a group share. */
static void attend_prefixes(const Block *b, const int32_t *firstKeys) {
  const int first = b->first, last = b->last, group = b->group;
  for (int row = first; row < last;) {
    const Segment *segment = b->segments + b->rowSegment[row];
    const int begin = segment->prefixBegin, end = segment->prefixEnd;
    int stop = min(segment->end, last);
    while (stop < last) {
      segment = b->segments + b->rowSegment[stop];
      if (segment->prefixBegin != begin || segment->prefixEnd != end) break;
      stop = min(segment->end, last);
    }
    const int from = (row - first) * group, to = (stop - first) * group;
    for (int j = begin; j < end; j += TILE) {
      const int n = min(end - j, TILE);
      if (firstKeys != NULL && none_before(firstKeys, from, to, j + n)) continue;
      take_keys(b, j, n);
      const Reach reach = { .count = n, .group = group, .firstKeys = firstKeys, .keyStart = j };
      softmax_attend(&b->softmax, from, to, &reach);
    }
    row = stop;
  }
}

/** Without a window: all rows attend to their own segments. */
static void attend_own(const Block *b, const Keys *keyRows) {
  const int first = b->first, group = b->group;
  for (int row = first; row < b->last;) {
    const uint32_t number = b->rowSegment[row];
    const Segment *segment = b->segments + number;
    const int stop = min(segment->end, b->last);
    int key = segment->begin, ahead = 0; // a row's key is row + ahead of k and v
    if (keyRows != NULL) {
      key = keyRows[number].begin;
      ahead = keyRows[number].end - segment->end;
    }
    for (int j = key; j < stop + ahead; j += TILE) {
      const int n = min(stop + ahead - j, TILE), from = max(row, j - ahead);
      take_keys(b, j, n);
      const Reach reach = { .count = n, .causal = 1, .group = group, .shift = j - ahead - first };
      softmax_attend(&b->softmax, (from - first) * group, (stop - first) * group, &reach);
    }
    row = stop;
  }
}

/**
 * Units: ⌈rows / blockRows⌉ · kvHeads; the key head varies fastest. `keyRows` is 0 where the keys
 * are the rows. `sinks`, `window`, `softCap`: 0 = none. `firstKeysOffset`: where the tables of
 * first keys are in the scratch.
 */
KERNEL(attention,
  q, k, v, sinks, out, lse, segments, rowSegment, keyRows, rows, heads, kvHeads, headDim, scale,
  softCap, window, firstKeysOffset
) {
  char *const q = AT(q), *const k = AT(k), *const v = AT(v), *const out = AT(out),
    *const lse = AT(lse), *const keyRows = AT(keyRows);
  const char *const sinks = AT(sinks);
  const int rows = args->rows, heads = args->heads, kvHeads = args->kvHeads,
    headDim = args->headDim, window = args->window;
  const float scale = args->scale;
  const uint32_t firstKeysOffset = args->firstKeysOffset;
  const int hasSinks = args->sinks != 0, group = heads / kvHeads, blockRows = TILE / group;
  const size_t queryStride = (size_t)heads * headDim * 4;
  int32_t *const firstKeys = (int32_t *)(scratch + firstKeysOffset);
  Block b = {
    .keyStride = (size_t)kvHeads * headDim * 4, .segments = (const Segment *)AT(segments),
    .rowSegment = (const uint32_t *)AT(rowSegment), .group = group,
    .softmax = softmax_scratch(scratch, headDim),
  };
  const Softmax *s = &b.softmax;
  b.softmax.cap = args->softCap;
  tile_offsets(s->queryOffsets, queryStride, (size_t)headDim * 4, group);
  tile_offsets(s->keyOffsets, b.keyStride, 0, 1);
  for (int unit = begin; unit < end; unit++) {
    const int head = unit % kvHeads, first = unit / kvHeads * blockRows;
    b.first = first;
    b.last = min(first + blockRows, rows);
    const size_t queryOffset = (size_t)first * queryStride + (size_t)head * group * headDim * 4;
    const size_t keyOffset = (size_t)head * headDim * 4;
    const int count = (b.last - first) * group;
    b.k = k + keyOffset;
    b.v = v + keyOffset;
    pack_transposed(q + queryOffset, s->queryOffsets, count, headDim, scale, s->q);
    softmax_begin(s, count, sinks + (size_t)head * group * 4, hasSinks ? group : 0);
    if (window != 0) {
      find_first_keys(&b, window, firstKeys);
      // The last keys first: so each query attends to itself before it meets a tile in which it
      // attends to no key.
      attend_segments(&b, firstKeys);
      attend_prefixes(&b, firstKeys + FIRST_KEYS);
    } else {
      attend_prefixes(&b, NULL);
      attend_own(&b, args->keyRows == 0 ? NULL : (const Keys *)keyRows);
    }
    softmax_end(s, out + queryOffset, count);
    for (int i = 0; i < count; i++) {
      const size_t place = (size_t)(first + i / group) * heads + head * group + i % group;
      const float m = load1(s->m + (size_t)i * 4), l = load1(s->l + (size_t)i * 4);
      store1(lse + place * 4, m + log1(l));
    }
  }
}
