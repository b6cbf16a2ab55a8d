/**
 * Calls to tune a card with where no run says which: products as a model of 0.5 billion parameters
 * has them in training and decoding; tiny ones for a software adapter.
 */
import type { Device } from "../device.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";

/** Width, intermediate width, and rows in training and in decoding. */
const CARD = { d: 896, inner: 4864, rows: 4096, branches: [1, 16, 64] };
const SOFTWARE = { d: 96, inner: 256, rows: 128, branches: [1, 8] };
/** Rank of an adapter. */
const RANK = 16;

export async function sampleCalls(
  device: Device & Required<Pick<Device, "rehearse">>,
  software: boolean,
): Promise<RecordedCall[]> {
  const { d, inner, rows, branches } = software ? SOFTWARE : CARD;
  const product = (m: number, n: number, k: number, flags: object = {}) => {
    const tensors = [m * k, k * n, m * n].map((size) => device.create("float", size, "sample"));
    const [a, b, out] = tensors as [typeof tensors[0], typeof tensors[0], typeof tensors[0]];
    device.run("matmul", { a, b, out, m, n, k, ...flags });
    for (const tensor of tensors) device.free(tensor);
  };
  return await device.rehearse(() => {
    for (const [n, k] of [[d, d], [inner, d], [d, inner]] as const) {
      for (const m of [rows, ...branches]) product(m, n, k, { transB: true });
      product(rows, k, n);
      product(n, k, rows, { transA: true, accumulate: true });
    }
    // An adapter: its products, and their gradients.
    product(rows, RANK, d, { transB: true });
    product(RANK, d, rows, { transA: true, accumulate: true });
    product(inner, RANK, rows, { transA: true, accumulate: true });
    return Promise.resolve();
  });
}
