/**
 * How many bytes a generation takes. It is counted: the decoder itself runs the largest prefill and
 * the last step of a full generation on a device without data.
 */
import type { ActivationStore } from "../../network/activation_store.ts";
import type { Network } from "../../network/weights/model_weights.ts";
import { MAX_COPY_BYTES } from "../../network/merged_copies.ts";
import { byOwner, countedNetwork } from "../../network/counted_network.ts";
import type { ModelSizes } from "../../network/weights/model_sizes.ts";
import { WeightCopies } from "../../network/weights/model_base.ts";
import { Workspace } from "../../network/workspace.ts";
import type { PrefillPrompt } from "../cache/prefill_batch.ts";
import { Decoder, rowsFor } from "../decoder.ts";
import { updateAdapter } from "../../network/dora.ts";
import { packWeights } from "../packed_weights.ts";
import { samplingBatches, samplingParams } from "../sampling/sampling_params.ts";
import type { SamplingOptions } from "../types.ts";
import type { KvCacheDtype } from "../../network/types.ts";
import { continuedTo } from "./largest_that.ts";

/** The maximum of what a generation holds at the same time. */
export interface GenerationSizes {
  promptRows: number;
  /** Prompts that may be in the cache at once in models with delta rules; absent = branches. */
  promptStates?: number;
  passRows?: number;
  branches: number;
  maxNewTokens: number;
  /** Rows of the branch cache; absent = enough for all branches at their maximum length. */
  branchRows?: number;
  /**
   * Whether logits are changed before sampling (repetition penalty, minimum length), or requests
   * have different sampling parameters.
   */
  adjusted?: boolean;
  /** Type of keys and values; absent = float32. */
  kvCacheDtype?: KvCacheDtype | undefined;
}

/**
 * Default limit on the bytes of a generation; requests that do not fit wait. A CPU is busy with
 * that much. A GPU with more free memory gets a higher limit (`generationLimit`).
 */
export const DEFAULT_GENERATION_BYTES = 2 ** 30;

/** Decode steps until the host reads tokens. A read costs little on a CPU and much on a GPU. */
export function stepsPerRead({ adapter }: Pick<Network["device"], "adapter">): number {
  return adapter === undefined ? 1 : 16;
}

/** What is counted of a model, and kept as long as its sizes are. */
interface CountedModel {
  /** With its copies of weights, unless these are too large. */
  network: ReturnType<typeof countedNetwork>;
  /** Bytes of the copies, and of all that is there between generations. */
  packed: number;
  held: number;
  known: Map<string, GenerationBytes>;
}

export interface GenerationBytes {
  bytes: number;
  largest: number;
}

const counted = new WeakMap<ModelSizes, CountedModel>();

function countedModel(sizes: ModelSizes): CountedModel {
  const known = counted.get(sizes);
  if (known !== undefined) return known;
  const plain = countedNetwork(sizes, byOwner), { device } = plain;
  const before = device.allocatedBytes, copies = new WeightCopies(device);
  updateAdapter(plain, copies.workspace);
  const packedNetwork = packWeights(plain, copies);
  const packed = device.allocatedBytes - before, fits = packed <= MAX_COPY_BYTES;
  if (!fits) copies.dispose();
  const network = { ...(fits ? packedNetwork : plain), device };
  const made = { network, packed, held: device.allocatedBytes, known: new Map() };
  counted.set(sizes, made);
  return made;
}

/** Bytes of the packed copies of weights, and of the buffer in which one at a time is merged. */
export function packedBytes(sizes: ModelSizes): number {
  return countedModel(sizes).packed;
}

/**
 * A generation with more branches is not counted: their list would take this process's memory. What
 * it takes grows with them.
 */
const MAX_BRANCHES = 2 ** 12;

/** Bytes of a generation, besides the copies of weights. */
export async function countGeneration(
  sizes: ModelSizes,
  generation: GenerationSizes,
): Promise<GenerationBytes> {
  const { network, held, known } = countedModel(sizes), { device } = network;
  const key = JSON.stringify(generation), before = known.get(key);
  if (before !== undefined) return before;
  const { branches } = generation;
  if (branches > MAX_BRANCHES) {
    const half = Math.ceil(branches / 2), quarter = Math.ceil(branches / 4);
    const large = await countGeneration(sizes, { ...generation, branches: half });
    const small = await countGeneration(sizes, { ...generation, branches: quarter });
    const grown = (part: keyof GenerationBytes) =>
      continuedTo(branches, [half, large[part]], [quarter, small[part]]);
    return { bytes: grown("bytes"), largest: grown("largest") };
  }
  const workspace = new Workspace(device, "inference");
  device.resetPeak();
  device.largest.clear();
  await rehearseGeneration(network, workspace, generation);
  const bytes = device.peakBytes - held, largest = device.largest.get("inference")!.bytes;
  workspace.dispose();
  known.set(key, { bytes, largest });
  return { bytes, largest };
}

/** Prefills as many prompts as there may be at once, then samples the last tokens of branches. */
export async function rehearseGeneration(
  network: Network,
  workspace: Workspace,
  generation: GenerationSizes,
  keep?: ActivationStore,
): Promise<void> {
  const { config: { vocabSize, maxPositions }, device } = network;
  // A prompt leaves a position for a token of its completion.
  const maxLength = maxPositions - 1;
  const { promptRows, branches, maxNewTokens, adjusted = false } = generation;
  const { passRows = promptRows, branchRows = null, promptStates = branches } = generation;
  const { kvCacheDtype } = generation;
  const shape = {
    slots: branches,
    promptRows,
    promptStates,
    maxNewTokens,
    branchRows,
    stepsPerRead: stepsPerRead(device),
    groupsPrompts: true,
    kvCacheDtype,
  };
  const decoder = new Decoder(network, workspace, shape, keep);
  const rows = Math.max(1, Math.min(passRows, promptRows));
  const count = Math.max(Math.min(branches, rows), Math.ceil(rows / maxLength));
  const prompts = promptsOf(rows, count, (promptId) => promptId % vocabSize);
  const options = { maxNewTokens, temperature: 1, seed: 1, eosIds: [] };
  const params = samplingParams(options, vocabSize);
  const changed = { ...samplingParams({ ...options, ...CHANGES }, vocabSize), ...ALLOWED };
  const last = rowsFor(maxNewTokens), seen = new Uint32Array(Math.ceil(vocabSize / 32));
  const decoded = Array.from({ length: branches }, (_, branch) => {
    const isChanged = adjusted && branch === 0;
    return {
      promptId: 0,
      branch,
      position: last,
      firstPosition: 0,
      slot: branch,
      newest: 0,
      completion: { ids: [] },
      form: isChanged ? { allowed: seen } as never : null,
      params: isChanged ? changed : params,
      cached: { begin: branch * last, end: (branch + 1) * last },
      prompt: { ...prompts[branch % count]!.cached, sharedPrefix: null, state: 0 },
      kept: null,
    };
  });
  // Long prompts that share all but their last token, whose rows are copied; then prompts that
  // share nothing.
  const longest = Math.max(1, Math.min(maxLength, rows - count));
  await decoder.prefill(promptsOf(Math.min(promptRows, count * longest), count, () => 0));
  const prefill = await decoder.prefill(prompts);
  const first = decoded.map((_, branch) => ({ index: branch % count, ids: [] }));
  await decoder.sampleFirstTokens(prefill, decoded, first);
  if (adjusted) decoder.setSeenTokens(0, []);
  const batches = samplingBatches(decoded),
    plain = { index: 0, ahead: 0, after: null, moved: null };
  await decoder.step(plain, decoded, batches);
  if (device.adapter === undefined) return;
  // Some have ended since the step before.
  await decoder.step({ ...plain, after: 0, moved: new Uint32Array(branches) }, decoded, batches);
}

/** Prompts that have so many tokens together, each of one token again and again. */
function promptsOf(
  rows: number,
  count: number,
  tokenOf: (promptId: number) => number,
): PrefillPrompt[] {
  let end = 0, before = -1;
  return Array.from({ length: count }, (_, promptId) => {
    const begin = end, token = tokenOf(promptId);
    end = Math.floor(rows * (promptId + 1) / count);
    const shared = token === before ? end - begin - 1 : 0;
    before = token;
    const ids = Array<number>(end - begin).fill(token);
    return { ids, promptId, cached: { begin, end }, state: 0, shared, source: null };
  });
}

/** Ways to change logits, with all of which sampling takes most memory. */
const CHANGES: Partial<SamplingOptions> = { repetitionPenalty: 2, adjust: () => {} };
const ALLOWED = { constraint: {} as never };
