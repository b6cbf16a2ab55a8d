// The matrix products of attention on tiles of TILE queries × TILE keys. The matrices of a tile are
// in scratch in one of two forms, so that all strides are constants and no sum runs across lanes:
//   transposed [d][TILE], for S = Q·Kᵀ and dP = dO·Vᵀ;
//   panels [d/16][TILE][16]: rows cut into pieces of 16 columns, padded with zeros, for P·V and the
//   other products.
// The register tile is 6 × 16, the fastest of those measured (docs/log/matrix-products.md). Each
// output is ONE chain of multiply-adds in the order of its inner index, however the work is tiled.

/** Number of queries or keys in a tile: a multiple of the register tile's 6 rows and 16 columns. */
export const TILE: i32 = 96;
/** Bytes of a row of a transposed tile and of a score tile. */
export const TILE_BYTES: usize = 384;
/** Bytes of a score tile [TILE][TILE]. */
export const SCORE_BYTES: usize = 36864;
/** Bytes of a panel. */
export const PANEL_BYTES: usize = 6144;

/** c[6][16] of a score tile = Σ_d a[d][6]·b[d][16]; a and b are transposed tiles. */
export function tile_scores(a: usize, b: usize, c: usize, k: i32): void {
  let c00 = f32x4.splat(0);
  let c01 = f32x4.splat(0);
  let c02 = f32x4.splat(0);
  let c03 = f32x4.splat(0);
  let c10 = f32x4.splat(0);
  let c11 = f32x4.splat(0);
  let c12 = f32x4.splat(0);
  let c13 = f32x4.splat(0);
  let c20 = f32x4.splat(0);
  let c21 = f32x4.splat(0);
  let c22 = f32x4.splat(0);
  let c23 = f32x4.splat(0);
  let c30 = f32x4.splat(0);
  let c31 = f32x4.splat(0);
  let c32 = f32x4.splat(0);
  let c33 = f32x4.splat(0);
  let c40 = f32x4.splat(0);
  let c41 = f32x4.splat(0);
  let c42 = f32x4.splat(0);
  let c43 = f32x4.splat(0);
  let c50 = f32x4.splat(0);
  let c51 = f32x4.splat(0);
  let c52 = f32x4.splat(0);
  let c53 = f32x4.splat(0);
  for (; k > 0; k--) {
    const b0 = v128.load(b, 0);
    const b1 = v128.load(b, 16);
    const b2 = v128.load(b, 32);
    const b3 = v128.load(b, 48);
    let x: v128;
    x = v128.load32_splat(a, 0);
    c00 = f32x4.relaxed_madd(x, b0, c00);
    c01 = f32x4.relaxed_madd(x, b1, c01);
    c02 = f32x4.relaxed_madd(x, b2, c02);
    c03 = f32x4.relaxed_madd(x, b3, c03);
    x = v128.load32_splat(a, 4);
    c10 = f32x4.relaxed_madd(x, b0, c10);
    c11 = f32x4.relaxed_madd(x, b1, c11);
    c12 = f32x4.relaxed_madd(x, b2, c12);
    c13 = f32x4.relaxed_madd(x, b3, c13);
    x = v128.load32_splat(a, 8);
    c20 = f32x4.relaxed_madd(x, b0, c20);
    c21 = f32x4.relaxed_madd(x, b1, c21);
    c22 = f32x4.relaxed_madd(x, b2, c22);
    c23 = f32x4.relaxed_madd(x, b3, c23);
    x = v128.load32_splat(a, 12);
    c30 = f32x4.relaxed_madd(x, b0, c30);
    c31 = f32x4.relaxed_madd(x, b1, c31);
    c32 = f32x4.relaxed_madd(x, b2, c32);
    c33 = f32x4.relaxed_madd(x, b3, c33);
    x = v128.load32_splat(a, 16);
    c40 = f32x4.relaxed_madd(x, b0, c40);
    c41 = f32x4.relaxed_madd(x, b1, c41);
    c42 = f32x4.relaxed_madd(x, b2, c42);
    c43 = f32x4.relaxed_madd(x, b3, c43);
    x = v128.load32_splat(a, 20);
    c50 = f32x4.relaxed_madd(x, b0, c50);
    c51 = f32x4.relaxed_madd(x, b1, c51);
    c52 = f32x4.relaxed_madd(x, b2, c52);
    c53 = f32x4.relaxed_madd(x, b3, c53);
    a += 384;
    b += 384;
  }
  v128.store(c, c00, 0);
  v128.store(c, c01, 16);
  v128.store(c, c02, 32);
  v128.store(c, c03, 48);
  v128.store(c, c10, 384);
  v128.store(c, c11, 400);
  v128.store(c, c12, 416);
  v128.store(c, c13, 432);
  v128.store(c, c20, 768);
  v128.store(c, c21, 784);
  v128.store(c, c22, 800);
  v128.store(c, c23, 816);
  v128.store(c, c30, 1152);
  v128.store(c, c31, 1168);
  v128.store(c, c32, 1184);
  v128.store(c, c33, 1200);
  v128.store(c, c40, 1536);
  v128.store(c, c41, 1552);
  v128.store(c, c42, 1568);
  v128.store(c, c43, 1584);
  v128.store(c, c50, 1920);
  v128.store(c, c51, 1936);
  v128.store(c, c52, 1952);
  v128.store(c, c53, 1968);
}

/** c[6][16] of a panel += Σ_j a[6][j]·b[j][16]; a is rows of a score tile, b a panel. */
export function tile_rows(a: usize, b: usize, c: usize, k: i32): void {
  let c00 = v128.load(c, 0);
  let c01 = v128.load(c, 16);
  let c02 = v128.load(c, 32);
  let c03 = v128.load(c, 48);
  let c10 = v128.load(c, 64);
  let c11 = v128.load(c, 80);
  let c12 = v128.load(c, 96);
  let c13 = v128.load(c, 112);
  let c20 = v128.load(c, 128);
  let c21 = v128.load(c, 144);
  let c22 = v128.load(c, 160);
  let c23 = v128.load(c, 176);
  let c30 = v128.load(c, 192);
  let c31 = v128.load(c, 208);
  let c32 = v128.load(c, 224);
  let c33 = v128.load(c, 240);
  let c40 = v128.load(c, 256);
  let c41 = v128.load(c, 272);
  let c42 = v128.load(c, 288);
  let c43 = v128.load(c, 304);
  let c50 = v128.load(c, 320);
  let c51 = v128.load(c, 336);
  let c52 = v128.load(c, 352);
  let c53 = v128.load(c, 368);
  for (; k > 0; k--) {
    const b0 = v128.load(b, 0);
    const b1 = v128.load(b, 16);
    const b2 = v128.load(b, 32);
    const b3 = v128.load(b, 48);
    let x: v128;
    x = v128.load32_splat(a, 0);
    c00 = f32x4.relaxed_madd(x, b0, c00);
    c01 = f32x4.relaxed_madd(x, b1, c01);
    c02 = f32x4.relaxed_madd(x, b2, c02);
    c03 = f32x4.relaxed_madd(x, b3, c03);
    x = v128.load32_splat(a, 384);
    c10 = f32x4.relaxed_madd(x, b0, c10);
    c11 = f32x4.relaxed_madd(x, b1, c11);
    c12 = f32x4.relaxed_madd(x, b2, c12);
    c13 = f32x4.relaxed_madd(x, b3, c13);
    x = v128.load32_splat(a, 768);
    c20 = f32x4.relaxed_madd(x, b0, c20);
    c21 = f32x4.relaxed_madd(x, b1, c21);
    c22 = f32x4.relaxed_madd(x, b2, c22);
    c23 = f32x4.relaxed_madd(x, b3, c23);
    x = v128.load32_splat(a, 1152);
    c30 = f32x4.relaxed_madd(x, b0, c30);
    c31 = f32x4.relaxed_madd(x, b1, c31);
    c32 = f32x4.relaxed_madd(x, b2, c32);
    c33 = f32x4.relaxed_madd(x, b3, c33);
    x = v128.load32_splat(a, 1536);
    c40 = f32x4.relaxed_madd(x, b0, c40);
    c41 = f32x4.relaxed_madd(x, b1, c41);
    c42 = f32x4.relaxed_madd(x, b2, c42);
    c43 = f32x4.relaxed_madd(x, b3, c43);
    x = v128.load32_splat(a, 1920);
    c50 = f32x4.relaxed_madd(x, b0, c50);
    c51 = f32x4.relaxed_madd(x, b1, c51);
    c52 = f32x4.relaxed_madd(x, b2, c52);
    c53 = f32x4.relaxed_madd(x, b3, c53);
    a += 4;
    b += 64;
  }
  v128.store(c, c00, 0);
  v128.store(c, c01, 16);
  v128.store(c, c02, 32);
  v128.store(c, c03, 48);
  v128.store(c, c10, 64);
  v128.store(c, c11, 80);
  v128.store(c, c12, 96);
  v128.store(c, c13, 112);
  v128.store(c, c20, 128);
  v128.store(c, c21, 144);
  v128.store(c, c22, 160);
  v128.store(c, c23, 176);
  v128.store(c, c30, 192);
  v128.store(c, c31, 208);
  v128.store(c, c32, 224);
  v128.store(c, c33, 240);
  v128.store(c, c40, 256);
  v128.store(c, c41, 272);
  v128.store(c, c42, 288);
  v128.store(c, c43, 304);
  v128.store(c, c50, 320);
  v128.store(c, c51, 336);
  v128.store(c, c52, 352);
  v128.store(c, c53, 368);
}

/** c[6][16] of a panel += Σ_i a[i][6]·b[i][16]; a is columns of a score tile, b a panel. */
export function tile_columns(a: usize, b: usize, c: usize, k: i32): void {
  let c00 = v128.load(c, 0);
  let c01 = v128.load(c, 16);
  let c02 = v128.load(c, 32);
  let c03 = v128.load(c, 48);
  let c10 = v128.load(c, 64);
  let c11 = v128.load(c, 80);
  let c12 = v128.load(c, 96);
  let c13 = v128.load(c, 112);
  let c20 = v128.load(c, 128);
  let c21 = v128.load(c, 144);
  let c22 = v128.load(c, 160);
  let c23 = v128.load(c, 176);
  let c30 = v128.load(c, 192);
  let c31 = v128.load(c, 208);
  let c32 = v128.load(c, 224);
  let c33 = v128.load(c, 240);
  let c40 = v128.load(c, 256);
  let c41 = v128.load(c, 272);
  let c42 = v128.load(c, 288);
  let c43 = v128.load(c, 304);
  let c50 = v128.load(c, 320);
  let c51 = v128.load(c, 336);
  let c52 = v128.load(c, 352);
  let c53 = v128.load(c, 368);
  for (; k > 0; k--) {
    const b0 = v128.load(b, 0);
    const b1 = v128.load(b, 16);
    const b2 = v128.load(b, 32);
    const b3 = v128.load(b, 48);
    let x: v128;
    x = v128.load32_splat(a, 0);
    c00 = f32x4.relaxed_madd(x, b0, c00);
    c01 = f32x4.relaxed_madd(x, b1, c01);
    c02 = f32x4.relaxed_madd(x, b2, c02);
    c03 = f32x4.relaxed_madd(x, b3, c03);
    x = v128.load32_splat(a, 4);
    c10 = f32x4.relaxed_madd(x, b0, c10);
    c11 = f32x4.relaxed_madd(x, b1, c11);
    c12 = f32x4.relaxed_madd(x, b2, c12);
    c13 = f32x4.relaxed_madd(x, b3, c13);
    x = v128.load32_splat(a, 8);
    c20 = f32x4.relaxed_madd(x, b0, c20);
    c21 = f32x4.relaxed_madd(x, b1, c21);
    c22 = f32x4.relaxed_madd(x, b2, c22);
    c23 = f32x4.relaxed_madd(x, b3, c23);
    x = v128.load32_splat(a, 12);
    c30 = f32x4.relaxed_madd(x, b0, c30);
    c31 = f32x4.relaxed_madd(x, b1, c31);
    c32 = f32x4.relaxed_madd(x, b2, c32);
    c33 = f32x4.relaxed_madd(x, b3, c33);
    x = v128.load32_splat(a, 16);
    c40 = f32x4.relaxed_madd(x, b0, c40);
    c41 = f32x4.relaxed_madd(x, b1, c41);
    c42 = f32x4.relaxed_madd(x, b2, c42);
    c43 = f32x4.relaxed_madd(x, b3, c43);
    x = v128.load32_splat(a, 20);
    c50 = f32x4.relaxed_madd(x, b0, c50);
    c51 = f32x4.relaxed_madd(x, b1, c51);
    c52 = f32x4.relaxed_madd(x, b2, c52);
    c53 = f32x4.relaxed_madd(x, b3, c53);
    a += 384;
    b += 64;
  }
  v128.store(c, c00, 0);
  v128.store(c, c01, 16);
  v128.store(c, c02, 32);
  v128.store(c, c03, 48);
  v128.store(c, c10, 64);
  v128.store(c, c11, 80);
  v128.store(c, c12, 96);
  v128.store(c, c13, 112);
  v128.store(c, c20, 128);
  v128.store(c, c21, 144);
  v128.store(c, c22, 160);
  v128.store(c, c23, 176);
  v128.store(c, c30, 192);
  v128.store(c, c31, 208);
  v128.store(c, c32, 224);
  v128.store(c, c33, 240);
  v128.store(c, c40, 256);
  v128.store(c, c41, 272);
  v128.store(c, c42, 288);
  v128.store(c, c43, 304);
  v128.store(c, c50, 320);
  v128.store(c, c51, 336);
  v128.store(c, c52, 352);
  v128.store(c, c53, 368);
}
