// Attention of one new query per branch (kernels/ops/attention_decode), a part of decode_layer too.
#pragma once
#include "softmax.h"

/** A row of the branch table (BRANCH of spec.ts). */
typedef struct {
  int32_t prefixBegin, prefixEnd;
  uint32_t slot;
  int32_t length;
  uint32_t sharedBegin;
  int32_t shared;
} Branch;

/** The arguments of attention_decode. */
typedef struct {
  /** packedPrefixK is NULL where there is none. */
  const char *q, *prefixK, *packedPrefixK, *prefixV, *branchK, *branchV, *sinks;
  char *out;
  const Branch *branches;
  int branchCount, maxNew, heads, kvHeads, headDim;
  float scale, softCap;
  int blockBranches, width, window, hasSinks;
  /** Whether keys and values are bfloat16. */
  int halves;
  /** Whether keys and values that memory holds are read ahead with prefetch instructions. */
  int prefetches;
} Decode;

/** The units [begin, end). */
void decode_attention(const Decode *d, int begin, int end, char *scratch);
