/**
 * Adapters of the table of embeddings, as in PEFT. Both add rows·factors to what is looked up, with
 * a narrow table [vocab, r] of rows:
 * - low rank: the table is Aᵀ and the factors are s·Bᵀ. Only the look-up changes, also where the
 *   head is tied to the embedding.
 * - trained tokens: they have rows of their own, P [r, d] in place of W's. The table has a 1 where
 *   the token is the r-th of them, and the factors are P − W's rows. A tied head gets the same as a
 *   low-rank adapter: B is the table, A the difference.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Parameter } from "./types.ts";
import type { Workspace } from "./workspace.ts";

interface Table {
  r: number;
  table: Tensor; // [vocab, r]
}

export type EmbeddingAdapter =
  | Table & { kind: "lora"; scale: number; a: Parameter; b: Parameter } // [r, vocab], [d, r]
  | Table & { kind: "tokens"; rows: Parameter; base: Tensor; difference: Tensor }; // all [r, d]

export function isTrained(adapter: EmbeddingAdapter): boolean {
  return (adapter.kind === "tokens" ? adapter.rows : adapter.a).grad !== null;
}

export function updateTable(
  device: Device,
  adapter: EmbeddingAdapter,
  workspace: Workspace,
  { vocabSize, hiddenSize: d }: { vocabSize: number; hiddenSize: number },
): void {
  const { r, table } = adapter;
  if (adapter.kind === "tokens") {
    const { rows, base: b, difference: out } = adapter;
    device.run("add", { a: rows.value, b, out, n: r * d, scale: -1 });
    return;
  }
  const transposed = { a: adapter.a.value, transA: true, b: identity(workspace, r), out: table };
  device.run("matmul", { ...transposed, m: vocabSize, n: r, k: r });
}

/** out[rows, d] += what the adapter adds to the tokens' embeddings. */
export function addToEmbedding(
  device: Device,
  adapter: EmbeddingAdapter,
  workspace: Workspace,
  { tokens, out, rows, d }: { tokens: Tensor; out: Tensor; rows: number; d: number },
): void {
  const { r } = adapter, a = lookUp(device, adapter, workspace, tokens, rows);
  const factors = adapter.kind === "tokens"
    ? { b: adapter.difference }
    : { b: adapter.b.value, transB: true, alpha: adapter.scale };
  device.run("matmul", { a, ...factors, out, m: rows, n: d, k: r, accumulate: true });
}

/** Adds the adapter's gradients, with the derivatives dh [rows, d] by the tokens' embeddings. */
export function embeddingBackward(
  device: Device,
  adapter: EmbeddingAdapter,
  workspace: Workspace,
  { tokens, dh, rows, d, vocab, scatter }: {
    tokens: Tensor; // u32 [rows]
    dh: Tensor;
    rows: number;
    d: number;
    vocab: number;
    /** table += src [rows, width], each row at its token's. */
    scatter: (src: Tensor, table: Tensor, width: number) => void;
  },
): void {
  const { r } = adapter, u = lookUp(device, adapter, workspace, tokens, rows);
  const sum = { k: rows, transA: true, accumulate: true };
  if (adapter.kind === "tokens") {
    device.run("matmul", { a: u, b: dh, out: adapter.rows.grad!, m: r, n: d, ...sum });
    return;
  }
  const { a, b, scale: alpha } = adapter, dtable = workspace.get("embedding.dtable", vocab * r);
  device.run("matmul", { a: dh, b: u, out: b.grad!, m: d, n: r, alpha, ...sum });
  device.run("matmul", { a: dh, b: b.value, out: u, m: rows, n: r, k: d, alpha });
  device.run("fill", { out: dtable, n: vocab * r, value: 0 });
  scatter(u, dtable, r);
  const transposed = { a: identity(workspace, r), b: dtable, transB: true, out: a.grad! };
  device.run("matmul", { ...transposed, m: r, n: vocab, k: r, accumulate: true });
}

/** The rows [rows, r] of the tokens. */
function lookUp(
  device: Device,
  { table, r: d }: EmbeddingAdapter,
  workspace: Workspace,
  index: Tensor,
  rows: number,
): Tensor {
  const out = workspace.get("embedding.u", rows * d);
  device.run("gather_rows", { table, index, out, rows, d });
  return out;
}

function identity(workspace: Workspace, r: number): Tensor {
  const one = Float64Array.from({ length: r * r }, (_, i) => i % (r + 1) === 0 ? 1 : 0);
  return workspace.uploadFloats("embedding.one", one);
}
