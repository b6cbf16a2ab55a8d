/** Where the adapter of the table of embeddings is, its tensors, and their initial values. */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { RandomStream } from "../../../core/philox.ts";
import { architectureOf, embeddingName, peftPath } from "../../architectures/mod.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { type AdapterTensor, loraFor, type LoraOptions } from "../adapters/lora.ts";
import { isSavedModule, modulePathOf, PEFT_PREFIX } from "../adapters/modules_to_save.ts";
import { addProduct } from "../adapters/weight_factors.ts";
import type { EmbeddingAdapter } from "../embedding_adapter.ts";
import type { LoraWeights } from "../linear.ts";
import type { Parameter } from "../types.ts";

/** Low-rank matrices of the embedding, or tokens with rows of their own. */
export type EmbeddingPlacement =
  & { r: number; peftPath: string }
  & ({ kind: "lora"; scale: number } | { kind: "tokens"; ids: readonly number[] });

/** The adapter of the embedding, if the options ask for it. @throws UsageError */
export function placeEmbedding(
  config: ModelConfig,
  options: LoraOptions,
): EmbeddingPlacement | null {
  const path = peftPath(config, modulePathOf(embeddingName(config)));
  const { positions } = architectureOf(config).names, { trainableTokenIndices: ids } = options;
  if (positions !== undefined && loraFor(options, positions, null) !== null) {
    throw new UsageError(`target_modules: no adapter of positions (${positions})`);
  }
  const shape = loraFor(options, path, null),
    saved = isSavedModule(path, options.modulesToSave ?? []);
  if (ids === undefined) {
    return saved || shape === null
      ? null
      : { kind: "lora", r: shape.r, scale: shape.scale, peftPath: path };
  }
  const other = shape !== null ? "target_modules" : saved ? "modules_to_save" : null;
  if (other !== null) {
    throw new UsageError(`trainable_token_indices: ${path} is in ${other}, too`, {
      advice: "leave one of the two out",
    });
  }
  const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < config.vocabSize));
  if (ids.length === 0 || wrong !== undefined || new Set(ids).size < ids.length) {
    throw new RgxError(
      `trainable_token_indices: ${wrong ?? `[${ids.join(", ")}]`}, expected different ids of ` +
        `tokens below ${config.vocabSize}`,
    );
  }
  return { kind: "tokens", r: ids.length, ids, peftPath: path };
}

/** Names of the tensors of the adapter, and of what is computed of them. */
function namesOf({ peftPath }: EmbeddingPlacement) {
  const base = `${PEFT_PREFIX}${peftPath}`;
  return {
    a: `${base}.lora_embedding_A`,
    b: `${base}.lora_embedding_B`,
    rows: `${base}.token_adapter.trainable_tokens_delta`,
    table: `${base}.table`,
    base: `${base}.base_rows`,
    difference: `${base}.difference`,
  };
}

export function embeddingTensors(
  { vocabSize, hiddenSize: d }: ModelConfig,
  placed: EmbeddingPlacement,
): AdapterTensor[] {
  const names = namesOf(placed), { r } = placed;
  const computed = { decay: false, computed: true };
  const table = { name: names.table, shape: [vocabSize, r], ...computed };
  return placed.kind === "tokens"
    ? [
      { name: names.rows, shape: [r, d], decay: true },
      table,
      { name: names.base, shape: [r, d], ...computed },
      { name: names.difference, shape: [r, d], ...computed },
    ]
    : [
      { name: names.a, shape: [r, vocabSize], decay: true },
      { name: names.b, shape: [d, r], decay: true },
      table,
    ];
}

/** Initial values by name. PEFT's A is zero and its B normal. @param row reads one of the base */
export async function initialEmbedding(
  { vocabSize, hiddenSize: d }: ModelConfig,
  placed: EmbeddingPlacement,
  { seed = 0, init }: Pick<LoraOptions, "seed" | "init">,
  row: (id: number) => Promise<Float32Array>,
): Promise<Map<string, Float32Array | Float64Array>> {
  const names = namesOf(placed), { r } = placed;
  if (placed.kind === "lora") {
    const normal = (name: string, length: number) => {
      const stream = RandomStream.forPurpose(seed, "init", name);
      return Float64Array.from({ length }, () => stream.normal());
    };
    const a = init === "false" ? normal(names.a, r * vocabSize) : new Float64Array(r * vocabSize);
    return new Map([[names.a, a], [names.b, normal(names.b, d * r)]]);
  }
  const rows = new Float32Array(r * d), table = new Float32Array(vocabSize * r);
  for (const [i, id] of placed.ids.entries()) {
    rows.set(await row(id), i * d);
    table[id * r + i] = 1;
  }
  return new Map([[names.rows, rows], [names.base, rows], [names.table, table]]);
}

/** Merges the adapter into the embedding [vocab, d] on the host. */
export async function mergeEmbedding(
  embedding: Float32Array | Float64Array,
  { vocabSize, hiddenSize: d }: ModelConfig,
  placed: EmbeddingPlacement,
  read: (name: string) => Promise<Float32Array>,
): Promise<void> {
  const names = namesOf(placed);
  if (placed.kind === "tokens") {
    const rows = await read(names.rows);
    placed.ids.forEach((id, i) => embedding.set(rows.subarray(i * d, (i + 1) * d), id * d));
    return;
  }
  const dims = [vocabSize, d] as const, a = await read(names.a), b = await read(names.b);
  addProduct(embedding, a, b, { dims, inOut: true, scale: placed.scale });
}

export function arrangeEmbedding(
  placed: EmbeddingPlacement,
  get: (name: string) => Parameter,
): EmbeddingAdapter {
  const names = namesOf(placed), { r } = placed, table = get(names.table).value;
  if (placed.kind === "lora") {
    return { kind: "lora", r, table, scale: placed.scale, a: get(names.a), b: get(names.b) };
  }
  const [base, difference] = [get(names.base).value, get(names.difference).value];
  return { kind: "tokens", r, table, rows: get(names.rows), base, difference };
}

/** Trained tokens of a head that is tied to the embedding. */
export function tokensOfHead(
  { r, table: b, rows, difference: a }: Extract<EmbeddingAdapter, { kind: "tokens" }>,
): LoraWeights {
  const none = { packedA: null, db: null, bias: null, dora: null, initial: null, site: 0 };
  return { ...none, a, b, da: rows.grad, r, scale: 1 };
}
