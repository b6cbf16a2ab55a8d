// Sampling rules that change single logits (kernels/ops/adjust_logits/spec.ts). Work unit: one row.

/** `seen`, `slots`, `newest` and `allowed` are 0 where they are absent. */
export function adjust_logits(
  logits: usize,
  out: usize,
  vocab: i32,
  penalty: f32,
  seen: usize,
  slots: usize,
  newest: usize,
  forbidden: usize,
  forbiddenCount: i32,
  allowed: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (vocab as usize) << 2;
  const setBytes = ((vocab + 31) >> 5 << 2) as usize;
  for (let row = begin; row < end; row++) {
    const to = out + (row as usize) * bytes;
    memory.copy(to, logits + (row as usize) * bytes, bytes);
    if (seen) {
      const set = seen + (load<u32>(slots + ((row as usize) << 2)) as usize) * setBytes;
      if (newest) {
        const token = load<u32>(newest + ((row as usize) << 2));
        const word = set + ((token >>> 5 << 2) as usize);
        store<u32>(word, load<u32>(word) | 1 << (token & 31));
      }
      for (let w: usize = 0; w < setBytes; w += 4) {
        for (let bits = load<u32>(set + w); bits != 0; bits &= bits - 1) {
          const at = to + (w << 5) + ((ctz(bits) as usize) << 2);
          const l = load<f32>(at);
          store<f32>(at, l > 0 ? l / penalty : l * penalty);
        }
      }
    }
    if (allowed) {
      const set = allowed + (row as usize) * setBytes;
      for (let w: usize = 0; w < setBytes; w += 4) {
        // The last word has bits of tokens that do not exist.
        const first = w << 3, count = min<usize>(32, (vocab as usize) - first);
        let bits = ~load<u32>(set + w);
        if (count < 32) bits &= (1 << (count as u32)) - 1;
        for (; bits != 0; bits &= bits - 1) {
          store<f32>(to + (w << 5) + ((ctz(bits) as usize) << 2), -Infinity);
        }
      }
    }
    for (let i: usize = 0; i < (forbiddenCount as usize); i++) {
      store<f32>(to + ((load<u32>(forbidden + (i << 2)) as usize) << 2), -Infinity);
    }
  }
}
