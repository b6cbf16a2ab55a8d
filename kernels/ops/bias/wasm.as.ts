// A bias and its gradient (kernels/ops/bias/spec.ts). Work unit of the forward: one row. Work unit
// of the gradient: COLUMNS columns. All rows are summed in order, in partial sums of SUM_ROWS rows,
// which loses fewer digits.

const COLUMNS: i32 = 16;
const SUM_ROWS: i32 = 256;

export function add_bias(
  x: usize,
  bias: usize,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  for (let row = begin; row < end; row++) {
    const to = x + (row as usize) * bytes;
    let c: usize = 0;
    for (; c + 16 <= bytes; c += 16) {
      v128.store(to + c, f32x4.add(v128.load(to + c), v128.load(bias + c)));
    }
    for (; c < bytes; c += 4) store<f32>(to + c, load<f32>(to + c) + load<f32>(bias + c));
  }
}

export function add_bias_backward(
  dout: usize,
  dbias: usize,
  rows: i32,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  const last = min(end * COLUMNS, d);
  let column = begin * COLUMNS;
  for (; column + 4 <= last; column += 4) {
    const offset = (column as usize) << 2;
    let total = f32x4.splat(0);
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let sum = f32x4.splat(0);
      let a = dout + offset + (row as usize) * bytes;
      for (; row < stop; row++, a += bytes) sum = f32x4.add(sum, v128.load(a));
      total = f32x4.add(total, sum);
    }
    v128.store(dbias + offset, f32x4.add(v128.load(dbias + offset), total));
  }
  for (; column < last; column++) {
    const offset = (column as usize) << 2;
    let total: f32 = 0;
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let sum: f32 = 0;
      let a = dout + offset + (row as usize) * bytes;
      for (; row < stop; row++, a += bytes) sum += load<f32>(a);
      total += sum;
    }
    store<f32>(dbias + offset, load<f32>(dbias + offset) + total);
  }
}
