// Products in bfloat16 and float16 (kernels/ops/matmul/bf16.ts and f16.ts), computed in f32 by the
// register tiles. Both operands are rounded and packed. In every block of 32 terms the even ones
// come first, so that the tiles can sum them, and then the odd ones. For bfloat16, the kernels of
// these names in bf16.c and bf16_pack.c have the same bits: a product of two rounded numbers is
// exact, and no sum is subnormal.
#include "bf16_round.h"
#include "blocks.h"
#include "kernel.h"
#include "widen_columns.h"

#define TERMS 32
/** Rows of a tile of sums, and of a unit of the products of many rows. */
#define TILE_HEIGHT 6
#define UNIT_ROWS 32
/** Kinds of b besides storage types: floats, and panels [k][16] that pack_weight packed. */
enum { FLOATS = -1, PACKED = -2 };
/** Bits of MIN_MAGNITUDE of bf16.ts. */
#define LEAST 0x23800000
/** Bits of the smallest normal binary16, of the first power of two beyond all, and of ∞. */
#define F16_NORMAL 0x38800000
#define F16_INFINITE 0x47800000
#define INFINITE 0x7f800000

INLINE u32x16 chosen(i32x16 mask, u32x16 yes, u32x16 no) {
  return (yes & (u32x16)mask) | (no & ~(u32x16)mask);
}

/** The nearest numbers in bfloat16; smaller magnitudes than MIN_MAGNITUDE become zero. */
INLINE f32x16 bf16_of(f32x16 x) {
  const u32x16 kept = (u32x16)((i32x16)((u32x16)x & 0x7fffffff) >= LEAST);
  return as_floats(halves_of((u32x16)x) << 16 & kept);
}

/** The nearest numbers in binary16, as in f16.ts. */
INLINE f32x16 f16_of(f32x16 x) {
  const u32x16 size = (u32x16)x & 0x7fffffff;
  // Next to 0.5, numbers of float32 are 2^-24 apart, like those of binary16 below its normal ones.
  const u32x16 small = (u32x16)(as_floats(size) + 0.5f - 0.5f);
  const u32x16 normal = (size + 0xfff + ((size >> 13) & 1)) & 0xffffe000;
  const u32x16 large = chosen((i32x16)normal >= F16_INFINITE, INFINITE, normal);
  const u32x16 number = chosen((i32x16)size < F16_NORMAL, small, large);
  return as_floats(chosen((i32x16)size > INFINITE, size | 0x400000, number) | ((u32x16)x & 0x80000000));
}

INLINE f32x16 rounded(const int half, f32x16 x) {
  return half ? f16_of(x) : bf16_of(x);
}

INLINE int round_up(int n) {
  return (n + TERMS - 1) & ~(TERMS - 1);
}

/** The place of a term: the even ones of a block come before the odd ones. */
INLINE size_t place_of(int term) {
  return (size_t)((term & ~31) | ((term & 1) << 4) | ((term & 31) >> 1));
}

/** Bytes of a packed row. */
INLINE size_t row_bytes(int k) {
  return (size_t)round_up(k) * 4;
}

/** Packs the rows [first, last) of a [m, k], or of its transpose, from `to` on. */
INLINE void pack_rows(
  const int half, const char *a, int m, int k, int transA, char *to, int first, int last
) {
  const size_t row = transA ? 4 : (size_t)k * 4, term = transA ? (size_t)m * 4 : 4;
  for (int i = first; i < last; i++, to += row_bytes(k)) {
    const char *from = a + (size_t)i * row;
    for (int block = 0; block < k; block += TERMS) {
      float even[LANES], odd[LANES];
      for (int t = 0; t < LANES; t++, from += 2 * term) {
        even[t] = block + 2 * t < k ? load1(from) : 0;
        odd[t] = block + 2 * t + 1 < k ? load1(from + term) : 0;
      }
      store16(to + (size_t)block * 4, rounded(half, load16((const char *)even)));
      store16(to + (size_t)block * 4 + ROW, rounded(half, load16((const char *)odd)));
    }
  }
}

/** Rounds a panel [depth][16] to [depth rounded up to 32][16], in the order of sums. */
INLINE void round_panel(const int half, const char *from, int depth, char *to) {
  const int size = round_up(depth);
  for (int kk = 0; kk < size; kk++, from += ROW) {
    const f32x16 x = kk < depth ? load16(from) : (f32x16)0.0f;
    store16(to + place_of(kk) * ROW, rounded(half, x));
  }
}

/** The second operand of a product: [k, n], or [n, k] with `transB`. */
typedef struct {
  int type, transB;
  const char *at;
  int n, k;
} Operand;

/**
 * Packs the terms [kk, kk + depth) of `columns` columns of b from `first` on, in panels. `wide`:
 * 64 · depth bytes per panel.
 */
INLINE void pack_columns(
  const int half, const Operand *b, int first, int columns, int kk, int depth, char *wide, char *to
) {
  const int type = b->type, n = b->n, k = b->k;
  if (type >= 0 && !b->transB) widen_columns(type, b->at, n, kk, depth, first, columns, wide);
  for (int c = 0; c < columns; c += LANES, to += (size_t)round_up(depth) * ROW) {
    const int column = first + c, count = min(LANES, n - column);
    const char *from = wide;
    if (type >= 0 && b->transB) {
      const int weights = block_weights(type);
      const char *panel = b->at + (size_t)(column / LANES) * panel_bytes(type, k);
      widen_panel(type, panel, count, k, kk / weights, depth / weights, wide);
    } else if (type >= 0) {
      from += (size_t)c * depth * 4;
    } else if (type == PACKED) {
      from = b->at + ((size_t)column * k + (size_t)kk * LANES) * 4;
    } else if (b->transB) {
      const char *at = b->at + ((size_t)column * k + kk) * 4;
      transpose_panels(at, (size_t)k * 4, count, depth, wide, 0, 1);
    } else {
      const char *at = b->at + ((size_t)kk * n + column) * 4;
      for (int i = 0; i < depth; i++, at += (size_t)n * 4) {
        const f32x16 x = count == LANES ? load16(at) : load_lanes(at, count);
        store16(wide + (size_t)i * ROW, x);
      }
    }
    round_panel(half, from, depth, to);
  }
}

/** sums [rows, 16] += the products of `terms` packed terms, block by block. */
static void sum_terms(
  const char *s, size_t sStep, const char *v, int terms, int rows, char *sums, size_t sumStep
) {
  char part[TILE_HEIGHT * ROW] __attribute__((aligned(64)));
  Product p = { .sRow = sStep, .sTerm = 4, .vTerm = ROW, .k = LANES, .alpha = 1 };
  p.c = part;
  p.cRow = ROW;
  for (; terms > 0; terms -= TERMS, s += TERMS * 4, v += TERMS * ROW) {
    for (int odd = 0; odd < 2; odd++) {
      p.s = s + odd * ROW;
      p.v = v + odd * LANES * ROW;
      p.add = odd;
      multiply(rows, 1, &p);
    }
    for (int i = 0; i < rows; i++) {
      char *at = sums + (size_t)i * sumStep;
      store16(at, load16(at) + load16(part + i * ROW));
    }
  }
}

/** A place in a result with `outStep` bytes from row to row, and what is done with sums. */
typedef struct {
  char *out;
  size_t outStep;
  float alpha;
  int accumulate;
} Result;

/** out [rows, columns ≤ 16] at a row and a column = (with `accumulate` +=) alpha · sums. */
static void put_sums(
  const char *sums, size_t sumStep, const Result *to, int row, int column, int rows, int columns
) {
  char *out = to->out + (size_t)row * to->outStep + (size_t)column * 4;
  for (; rows > 0; rows--, sums += sumStep, out += to->outStep) {
    put_lanes(out, to->alpha * load16(sums), columns, to->accumulate);
  }
}

/** A unit: rows and columns of a result, columns that there is scratch for, and terms at once. */
typedef struct {
  int row, rows, first, columns, unitColumns, slice;
} Part;

/** A part of a result from packed rows a and the operand b. */
INLINE void multiply_part(
  const int half, const Part *part, const char *a, const Operand *b, const Result *to, char *scratch
) {
  const int k = b->k, slice = part->slice, rows = part->rows, columns = part->columns;
  const size_t aStep = row_bytes(k), wideStep = (size_t)part->unitColumns * 4;
  const size_t bytes = (size_t)min(slice, round_up(k)) * wideStep;
  char *const wide = scratch, *const packed = wide + bytes, *const kept = packed + bytes;
  char few[TILE_HEIGHT * ROW] __attribute__((aligned(64)));
  int kk = 0;
  do {
    const int depth = min(slice, k - kk), padded = round_up(depth), last = kk + depth >= k;
    pack_columns(half, b, part->first, columns, kk, depth, wide, packed);
    for (int j = 0; j < columns; j += LANES) {
      const char *panel = packed + (size_t)j * padded * 4;
      for (int i = 0; i < rows; i += TILE_HEIGHT) {
        const int height = min(TILE_HEIGHT, rows - i), row = part->row + i;
        char *sums = k > slice ? kept + (size_t)i * wideStep + (size_t)j * 4 : few;
        const size_t step = k > slice ? wideStep : ROW;
        if (kk == 0) for (int r = 0; r < height; r++) zero_rows(sums + (size_t)r * step, 1);
        const char *s = a + (size_t)row * aStep + (size_t)kk * 4;
        sum_terms(s, aStep, panel, padded, height, sums, step);
        if (!last) continue;
        put_sums(sums, step, to, row, part->first + j, height, min(LANES, columns - j));
      }
    }
    kk += slice;
  } while (kk < k);
}

typedef struct {
  double a, m, k, transA, packed;
} PackRowsArgs;

/** packed [m, k rounded up to 32] = a [m, k], or its transpose with `transA`. Unit: 16 rows. */
#define PACK_ROWS(half)                                                                     \
  const int m = args->m, k = args->k;                                                       \
  char *const to = AT(packed) + (size_t)begin * LANES * row_bytes(k);                       \
  pack_rows(half, AT(a), m, k, args->transA, to, begin * LANES, min(end * LANES, m));

KERNEL_OF(bf16_pack_rows, PackRowsArgs) {
  PACK_ROWS(0)
}

KERNEL_OF(f16_pack_rows, PackRowsArgs) {
  PACK_ROWS(1)
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a·b; a is packed by bf16_pack_rows. b is as in
 * Operand. Where r > 0, the product of an adapter is added: loraScale · xa [m, r] · loraB [n, r]ᵀ,
 * of which xa is packed.
 * Unit: `unitRows` rows × `unitColumns` columns (whole blocks); the columns vary fastest. `slice`
 * terms (whole blocks, and a multiple of 32; not fewer than r) are packed at once.
 * Scratch, with d = min(slice, max(k, r)) rounded up to 32: 8 · d · unitColumns bytes, and where
 * k > slice 4 · unitRows · unitColumns bytes.
 */
typedef struct {
  double type, transB, a, b, out, m, n, k, unitRows, unitColumns, slice, alpha, accumulate, xa,
    loraB, r, loraScale;
} MatmulRoundedArgs;

INLINE void multiply_units(
  const int half, char *base, const MatmulRoundedArgs *args, int begin, int end, char *scratch
) {
  const int m = args->m, n = args->n, unitRows = args->unitRows, unitColumns = args->unitColumns,
    r = args->r, groups = ceil_div(n, unitColumns);
  const char *const a = AT(a), *const xa = AT(xa);
  const Operand b = { args->type, args->transB, AT(b), n, args->k };
  const Operand low = { FLOATS, 1, AT(loraB), n, r };
  const Result to = { AT(out), (size_t)n * 4, args->alpha, args->accumulate };
  const Result more = { to.out, to.outStep, args->loraScale, 1 };
  Part part = { .unitColumns = unitColumns, .slice = args->slice };
  for (int unit = begin; unit < end; unit++) {
    part.row = unit / groups * unitRows;
    part.rows = min(unitRows, m - part.row);
    part.first = unit % groups * unitColumns;
    part.columns = min(unitColumns, n - part.first);
    multiply_part(half, &part, a, &b, &to, scratch);
    if (r > 0) multiply_part(half, &part, xa, &low, &more, scratch);
  }
}

KERNEL_OF(matmul_bf16, MatmulRoundedArgs) {
  multiply_units(0, base, args, begin, end, scratch);
}

KERNEL_OF(matmul_f16, MatmulRoundedArgs) {
  multiply_units(1, base, args, begin, end, scratch);
}

/**
 * The panels of all columns of b, which is as in matmul_bf16. Unit: `unitColumns` columns (whole
 * blocks). Scratch: 4 bytes a term for each column of a unit.
 */
typedef struct {
  double type, transB, b, n, k, unitColumns, packed;
} PackColumnsArgs;

INLINE void pack_units(
  const int half, char *base, const PackColumnsArgs *args, int begin, int end, char *scratch
) {
  const Operand b = { args->type, args->transB, AT(b), args->n, args->k };
  const int unitColumns = args->unitColumns;
  for (int unit = begin; unit < end; unit++) {
    const int first = unit * unitColumns, columns = min(unitColumns, b.n - first);
    char *to = AT(packed) + (size_t)first * row_bytes(b.k);
    pack_columns(half, &b, first, columns, 0, b.k, scratch, to);
  }
}

KERNEL_OF(bf16_pack_columns, PackColumnsArgs) {
  pack_units(0, base, args, begin, end, scratch);
}

KERNEL_OF(f16_pack_columns, PackColumnsArgs) {
  pack_units(1, base, args, begin, end, scratch);
}

/** Part of a result from packed rows and packed columns. */
static void multiply_columns(
  const char *a, const char *b, const Result *to, int k, int row, int rows, int first, int columns
) {
  const size_t step = row_bytes(k);
  char sums[TILE_HEIGHT * ROW] __attribute__((aligned(64)));
  for (int j = 0; j < columns; j += LANES) {
    for (int i = 0; i < rows; i += TILE_HEIGHT) {
      const int height = min(TILE_HEIGHT, rows - i);
      zero_rows(sums, TILE_HEIGHT);
      const char *s = a + (size_t)i * step;
      sum_terms(s, step, b + (size_t)(first + j) * step, round_up(k), height, sums, ROW);
      put_sums(sums, ROW, to, row + i, first + j, height, min(LANES, columns - j));
    }
  }
}

/**
 * The product of matmul_bf16 for many rows, a [m, k] or [k, m] with `transA`. b and loraB are
 * packed by bf16_pack_columns. Unit: UNIT_ROWS rows × `unitColumns` columns; the rows vary fastest.
 * Scratch: UNIT_ROWS rows of a or of xa with terms rounded up to 32.
 */
typedef struct {
  double a, transA, b, out, m, n, k, unitColumns, alpha, accumulate, xa, loraB, r, loraScale;
} MatmulRoundedRowsArgs;

INLINE void multiply_many(
  const int half, char *base, const MatmulRoundedRowsArgs *args, int begin, int end, char *scratch
) {
  const int m = args->m, n = args->n, k = args->k, r = args->r, transA = args->transA,
    unitColumns = args->unitColumns, chunks = ceil_div(m, UNIT_ROWS);
  const char *const a = AT(a), *const b = AT(b), *const xa = AT(xa), *const low = AT(loraB);
  const Result to = { AT(out), (size_t)n * 4, args->alpha, args->accumulate };
  const Result more = { to.out, to.outStep, args->loraScale, 1 };
  for (int unit = begin; unit < end; unit++) {
    const int row = unit % chunks * UNIT_ROWS, rows = min(UNIT_ROWS, m - row);
    const int first = unit / chunks * unitColumns, columns = min(unitColumns, n - first);
    pack_rows(half, a, m, k, transA, scratch, row, row + rows);
    multiply_columns(scratch, b, &to, k, row, rows, first, columns);
    if (r == 0) continue;
    pack_rows(half, xa, m, r, 0, scratch, row, row + rows);
    multiply_columns(scratch, low, &more, r, row, rows, first, columns);
  }
}

KERNEL_OF(matmul_bf16_rows, MatmulRoundedRowsArgs) {
  multiply_many(0, base, args, begin, end, scratch);
}

KERNEL_OF(matmul_f16_rows, MatmulRoundedRowsArgs) {
  multiply_many(1, base, args, begin, end, scratch);
}
