/**
 * Generates the completions of a list of requests: opens a generation (generation.ts) that is as
 * large as its memory limits allow.
 */
import { setImmediate } from "node:timers";
import { Interrupted } from "../../core/errors.ts";
import { stoppable } from "../../core/remote/retry.ts";
import type { Device } from "../../kernels/device.ts";
import { bestSlots } from "./row_threads.ts";
import { Generation, type GenerationShape } from "./generation.ts";
import { checkRequest } from "./generation_job.ts";
import {
  planDialogues,
  planSlots,
  PREFILL_ROWS,
  PREFILL_ROWS_GPU,
} from "./memory/generation_slots.ts";
import { withInt8Activations } from "./int8_activations.ts";
import { updateAdapter } from "../network/dora.ts";
import type { Network } from "../network/weights/model_weights.ts";
import { type GenerationSizes, packedBytes, stepsPerRead } from "./memory/counted_generation.ts";
import { MAX_COPY_BYTES } from "../network/merged_copies.ts";
import type { ModelSizes } from "../network/weights/model_sizes.ts";
import { packWeights, SharedWeights } from "./packed_weights.ts";
import { adjustsLogits, samplingParams } from "./sampling/sampling_params.ts";
import { type ModelBase, WeightCopies } from "../network/weights/model_base.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateOptions,
  GenerateRequest,
  JoinedModel,
} from "./types.ts";

/**
 * The limits of a generation, and how it divides its time.
 * @internal
 */
export interface GeneratorLimits
  extends Omit<GenerationShape, keyof GenerationSizes | "slots" | "branchRows"> {
  /** Maximum number of bytes besides the copies of weights. At least one branch always runs. */
  bytes: number;
  /** Maximum number of bytes of one buffer. */
  largestBuffer: number;
  /** Maximum number of branches that decode together; null = the best number for the device. */
  slots: number | null;
  /** Weights are copied, with adapters merged in, if the copies need at most this many bytes. */
  copyBytes: number;
}

/** Buffers of the model's base. */
type GenerationBuffers = Pick<ModelBase, "inference" | "copies">;

export function defaultLimits(device: Device, bytes: number): GeneratorLimits {
  const onGpu = device.adapter !== undefined;
  return {
    bytes,
    largestBuffer: device.promisedTensor ?? device.largestTensor ?? Infinity,
    slots: null,
    stepsPerRead: stepsPerRead(device),
    prefillRows: onGpu ? PREFILL_ROWS_GPU : PREFILL_ROWS,
    copyBytes: MAX_COPY_BYTES,
    turnMs: 50,
    // A timer would take a millisecond or more.
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    keptPrompts: 1,
    groupsPrompts: true,
  };
}

/**
 * Completions in the order of the requests and of their branches. When a request fails, all
 * requests end and its error is thrown.
 */
export async function generate(
  network: Network,
  buffers: GenerationBuffers,
  sizes: ModelSizes,
  requests: readonly GenerateRequest[],
  options: GenerateOptions,
  limits: GeneratorLimits,
): Promise<Completion[][]> {
  const { maxPositions, vocabSize } = network.config;
  let maxNewTokens = 1, adjusted = false;
  const general = samplingParams(options, vocabSize);
  requests.forEach((request, i) => {
    checkRequest(request, network.config, i);
    const { sampling, promptIds } = request;
    const params = sampling === undefined
      ? general
      : samplingParams({ ...options, ...sampling }, vocabSize);
    maxNewTokens = Math.max(
      maxNewTokens,
      Math.min(params.maxNewTokens, maxPositions - promptIds.length),
    );
    adjusted ||= adjustsLogits(params) || params.samplerKey !== general.samplerKey;
  });
  if (!requests.some(({ n }) => n > 0)) return requests.map(() => []);
  const maxSlots = limits.slots ?? Math.min(options.slots ?? Infinity, bestSlots(network));
  const { kvCacheDtype } = options;
  const plan = await planSlots(sizes, requests, { maxNewTokens, adjusted, kvCacheDtype }, {
    ...limits,
    maxSlots,
  });
  let failed = false;
  const shouldStop = () => failed || (options.shouldStop?.() ?? false);
  const open = { ...options, shouldStop };
  const generation = openGeneration(network, buffers, sizes, plan, open, limits);
  let completions: Completion[][];
  try {
    completions = await Promise.all(requests.map(async (request) => {
      const finished = await generation.add(request);
      options.onEnd?.(request, finished);
      return finished;
    }));
  } catch (error) {
    // Otherwise the other requests would go on while the caller uses the model for something else.
    failed = true;
    await generation.idle();
    throw error;
  }
  if (options.onTiming !== undefined) {
    await generation.idle();
    options.onTiming(generation.timing);
  }
  return completions;
}

/** While dialogues wait for their environments, replies arrive within so many milliseconds. */
const DIALOGUE_TURN_MS = 5;

/**
 * Keeps a generation open for dialogues. A prompt that goes on with an earlier one of its dialogue
 * is computed from there on; a dialogue that waits for a reply takes no part in the steps. Answers
 * have the bits that they would have alone.
 * @param play asks for the answers; what it has asked for must end before it does
 */
export async function generateDialogues<T>(
  network: Network,
  buffers: GenerationBuffers,
  sizes: ModelSizes,
  room: DialogueRoom,
  options: GenerateOptions,
  limits: GeneratorLimits,
  play: (ask: Ask) => Promise<T>,
): Promise<T> {
  const adjusted = adjustsLogits(samplingParams(options, network.config.vocabSize));
  const maxSlots = limits.slots ?? Math.min(options.slots ?? Infinity, bestSlots(network));
  const turnTokens = Math.min(room.turnTokens, network.config.maxPositions - 1);
  const rows = { ...room, turnTokens };
  const { kvCacheDtype } = options;
  const plan = await planDialogues(sizes, rows, { adjusted, kvCacheDtype }, {
    ...limits,
    maxSlots,
  });
  let ended = false;
  const shouldStop = () => ended || (options.shouldStop?.() ?? false);
  // Which rows are together depends on how long replies take.
  network.device.steady = true;
  const generation = openGeneration(network, buffers, sizes, plan, { ...options, shouldStop }, {
    ...limits,
    turnMs: DIALOGUE_TURN_MS,
    // Of each dialogue the newest, and the one before while that is copied.
    keptPrompts: 2 * room.prompts.length,
    groupsPrompts: false,
  });
  try {
    const check = () => {
      if (ended || options.shouldStop?.()) throw new Interrupted();
    };
    const ask = (request: GenerateRequest) => {
      check();
      return generation.add(request);
    };
    return await stoppable(check, play(ask));
  } finally {
    ended = true;
    await generation.idle();
    network.device.steady = false;
    options.onTiming?.(generation.timing);
  }
}

/**
 * Opens a generation that takes requests while it runs. Until its last request has ended, the
 * model's weights must not change and no other pass of the model may run.
 * @param room its maximum sizes, whose memory countGeneration gives
 */
export function openGeneration(
  network: Network,
  { inference, copies }: GenerationBuffers,
  sizes: ModelSizes,
  room: GenerationSizes,
  options: GenerateOptions,
  { copyBytes, ...limits }: GeneratorLimits,
): Generation {
  const read = options.activations === "int8" ? withInt8Activations(network) : network;
  const owner = {}, packs = packedBytes(sizes) <= copyBytes;
  const pack = () => {
    updateAdapter(read, inference);
    if (!packs) return read;
    copies.claim(owner);
    return packWeights(read, copies);
  };
  const model = pack();
  const { branches: slots, promptRows, maxNewTokens, adjusted = false } = room;
  const { promptStates = slots, kvCacheDtype } = room;
  // A GPU reads the cache of branches in equal runs.
  const branchRows = network.device.adapter !== undefined ? null : room.branchRows ?? null;
  const sized = { slots, promptRows, promptStates, maxNewTokens, branchRows, kvCacheDtype };
  const shape = { ...limits, ...sized, adjusted };
  // Between requests another pass may have used the buffers of the copies.
  return new Generation(model, inference, shape, options, () => {
    if (packs && !copies.belongTo(owner)) pack();
  }, new SharedWeights(read, model));
}

/** How another network joins a generation. */
export interface JoinOptions extends Pick<GenerateOptions, "activations"> {
  /**
   * Leaves the adapter beside the weights of the generation's own model. It then takes only its own
   * memory; steps take longer, and the last digits are not those of merged weights. Default: false.
   */
  separate?: boolean;
}

/**
 * Lets a generation on the same base generate with another network, too. The copies of weights with
 * the adapter merged in are its own until it leaves; other weights are shared. While they exist,
 * the adapter must not change.
 */
export function joinGeneration(
  generation: Generation,
  network: Network,
  sizes: ModelSizes,
  options: JoinOptions,
  { copyBytes }: Pick<GeneratorLimits, "copyBytes">,
): JoinedModel {
  const read = options.activations === "int8" ? withInt8Activations(network) : network;
  const copies = new WeightCopies(network.device);
  updateAdapter(read, copies.workspace);
  if (packedBytes(sizes) > copyBytes) return generation.join(read, () => copies.dispose());
  const { separate = false } = options, { shared } = generation;
  const packed = packWeights(read, copies, { separate, shared });
  return generation.join(packed, () => copies.dispose());
}
