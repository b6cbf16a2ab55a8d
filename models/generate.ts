/**
 * Generation for groups: n branches of each prompt, the prompt computed and cached once, finished branches
 * taken out of the batch. What a branch samples depends on (seed, promptId, branch, position) and its logits
 * only: not on the batch, on its neighbours, on the split into waves, or on how often the host looks.
 * Over-generated tokens of a branch that has ended are cut. This file does the bookkeeping; decoder.ts runs the
 * device. Left out: beams.
 */
import { Interrupted, RgxError } from "../core/errors.ts";
import type { Device } from "../kernels/device.ts";
import { type DecodeBranch, Decoder } from "./decoder.ts";
import type { LlamaCore } from "./llama_pass.ts";
import { MOST_COPIED_BYTES } from "./merge_lora.ts";
import { planGenerationBytes, WAVE_BYTES } from "./memory_plan.ts";
import type { ModelSizes } from "./model_sizes.ts";
import { packedBytes, packWeights } from "./packed_weights.ts";
import type { Completion, GenerateOptions, GenerateRequest } from "./types.ts";
import type { Workspace } from "./workspace.ts";

/** Branches of one prompt must stay below this: they are 12 bits of a random counter. */
const MAX_BRANCHES = 4096;
/** Positions of a completion are 20 bits of it. */
const MAX_COMPLETION = 2 ** 20;
/** The event loop gets a turn at least this often, so that signals arrive while a CPU device computes. */
const EVENT_LOOP_MS = 50;

export interface GeneratorLimits {
  /** Bytes that one wave may take; more branches become several waves. At least one branch always runs. */
  waveBytes: number;
  /** Steps between two looks at the tokens. A look costs little on a CPU and much on a GPU. */
  stepsPerRead: number;
  /** Weights are copied, with adapters merged in, when the copies take at most this. */
  copyBytes: number;
}

export function defaultLimits(device: Device): GeneratorLimits {
  return {
    waveBytes: WAVE_BYTES,
    stepsPerRead: device.name === "webgpu" ? 16 : 1,
    copyBytes: MOST_COPIED_BYTES,
  };
}

interface Branch extends DecodeBranch {
  completion: Completion;
  /** Most tokens it may get. */
  limit: number;
  done: boolean;
}

interface Wave {
  prompts: (readonly number[])[];
  branches: Branch[];
  promptRows: number;
  maxNewTokens: number;
}

/** Completions in the order of the requests and of their branches. */
export async function generate(
  core: LlamaCore,
  workspace: Workspace,
  sizes: ModelSizes,
  requests: readonly GenerateRequest[],
  options: GenerateOptions,
  limits: GeneratorLimits,
): Promise<Completion[][]> {
  checkOptions(options);
  requests.forEach((request, i) => checkRequest(request, i, core.config.maxPositions));
  const completions: Completion[][] = requests.map(() => []);
  const waves = planWaves(sizes, requests, options, limits.waveBytes, completions);
  const copies = waves.length > 0 && packedBytes(sizes) <= limits.copyBytes;
  const model = copies ? packWeights(core, workspace, options.adapter ?? true) : core;
  for (const wave of waves) {
    const { prompts, branches, maxNewTokens } = wave;
    const decoder = new Decoder(model, workspace, prompts, branches.length, maxNewTokens, options);
    await runWave(decoder, wave, options, limits.stepsPerRead);
  }
  return completions;
}

/** Cuts the requests' branches into waves that keep the bound, and gives every branch its completion. */
function planWaves(
  sizes: ModelSizes,
  requests: readonly GenerateRequest[],
  options: GenerateOptions,
  waveBytes: number,
  completions: Completion[][],
): Wave[] {
  const { repetitionPenalty = 1, minNewTokens = 0 } = options;
  const adjusted = repetitionPenalty !== 1 || minNewTokens > 0;
  const waves: Wave[] = [];
  let wave: Wave | null = null;
  requests.forEach(({ promptId, promptIds, n, firstBranch = 0 }, r) => {
    const limit = Math.min(options.maxNewTokens, sizes.config.maxPositions - promptIds.length);
    for (let b = 0; b < n; b++) {
      const opensPrompt: boolean = b === 0 || wave === null;
      const grown: { promptRows: number; maxNewTokens: number } = {
        promptRows: (wave?.promptRows ?? 0) + (opensPrompt ? promptIds.length : 0),
        maxNewTokens: Math.max(wave?.maxNewTokens ?? 0, limit),
      };
      const branches: number = (wave?.branches.length ?? 0) + 1;
      if (
        wave === null || planGenerationBytes(sizes, { ...grown, branches, adjusted }) > waveBytes
      ) {
        wave = {
          prompts: [promptIds],
          branches: [],
          promptRows: promptIds.length,
          maxNewTokens: limit,
        };
        waves.push(wave);
      } else {
        Object.assign(wave, grown);
        if (opensPrompt) wave.prompts.push(promptIds);
      }
      const completion: Completion = { ids: [], logprobs: [], finishReason: "length" };
      completions[r]!.push(completion);
      wave.branches.push({
        promptId,
        branch: firstBranch + b,
        prompt: wave.prompts.length - 1,
        slot: wave.branches.length,
        completion,
        limit,
        done: false,
      });
    }
  });
  return waves;
}

async function runWave(
  decoder: Decoder,
  wave: Wave,
  options: GenerateOptions,
  stepsPerRead: number,
): Promise<void> {
  const endsWith = endRule(options);
  const stopIfAsked = () => {
    if (options.shouldStop?.()) throw new Interrupted("generation was stopped early on request");
  };
  /** The branches of each position's rows, to place log-probabilities that are read at the end. */
  const rowsOf: Branch[][] = [];
  let active = wave.branches;
  let lastPause = performance.now();
  const start = lastPause;
  let prefillEnd = start;

  stopIfAsked();
  decoder.first(active);
  rowsOf.push(active);
  for (let read = 0; active.length > 0;) {
    // The first token alone: what comes before it is the prompt's time.
    const to = Math.min(read + (read === 0 ? 1 : stepsPerRead), wave.maxNewTokens);
    for (let position = rowsOf.length; position < to; position++) {
      decoder.next(position, active, null);
      rowsOf.push(active);
    }
    const tokens = await decoder.readTokens(read, to, active.length);
    for (let position = read; position < to; position++) {
      active.forEach((branch, row) => {
        const token = tokens[(position - read) * decoder.stride + row]!;
        if (!branch.done) appendToken(branch, token, endsWith);
      });
    }
    if (read === 0) prefillEnd = performance.now();
    read = to;
    const ended = active.some((branch) => branch.done);
    if (ended) active = active.filter((branch) => !branch.done);
    if (active.length === 0) break;
    stopIfAsked();
    if (performance.now() - lastPause > EVENT_LOOP_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      lastPause = performance.now();
    }
    // The first step after a look: the tokens go with it if rows have moved.
    const moved = ended ? Uint32Array.from(active, (b) => b.completion.ids.at(-1)!) : null;
    decoder.next(read, active, moved);
    rowsOf.push(active);
  }

  const logp = await decoder.readLogp(rowsOf.length);
  options.onWave?.({
    promptTokens: wave.promptRows,
    newTokens: wave.branches.reduce((sum, { completion }) => sum + completion.ids.length, 0),
    prefillSeconds: (prefillEnd - start) / 1000,
    decodeSeconds: (performance.now() - prefillEnd) / 1000,
  });
  rowsOf.forEach((rows, position) =>
    rows.forEach(({ completion }, row) => {
      if (position < completion.ids.length) {
        completion.logprobs.push(logp[position * decoder.stride + row]!);
      }
    })
  );
}

/** Whether a completion ends by itself with its last token. */
function endRule(options: GenerateOptions): (ids: readonly number[]) => boolean {
  const { stopWhen, minNewTokens = 0 } = options, eos = new Set(options.eosIds);
  return (ids) =>
    eos.has(ids.at(-1)!) ||
    (stopWhen !== undefined && ids.length > minNewTokens && stopWhen(ids));
}

function appendToken(
  branch: Branch,
  token: number,
  endsWith: (ids: readonly number[]) => boolean,
): void {
  const { completion } = branch;
  completion.ids.push(token);
  if (endsWith(completion.ids)) {
    completion.finishReason = "stop";
    branch.done = true;
  } else if (completion.ids.length === branch.limit) {
    branch.done = true;
  }
}

function checkOptions(options: GenerateOptions): void {
  const { maxNewTokens, temperature, topK, topP, minP } = options;
  const { repetitionPenalty: penalty = 1, minNewTokens = 0 } = options;
  const refuse = (name: string, found: unknown, expected: string): never => {
    throw new RgxError(`generate: ${name} is ${found}, expected ${expected}`);
  };
  if (!(Number.isInteger(maxNewTokens) && maxNewTokens >= 1 && maxNewTokens < MAX_COMPLETION)) {
    refuse("maxNewTokens", maxNewTokens, `an integer from 1 to ${MAX_COMPLETION - 1}`);
  }
  if (!(temperature >= 0 && Number.isFinite(temperature))) {
    refuse("temperature", temperature, "a number of at least 0");
  }
  if (topK !== undefined && !(Number.isInteger(topK) && topK >= 0)) {
    refuse("topK", topK, "an integer of at least 0");
  }
  if (topP !== undefined && !(topP > 0 && topP <= 1)) refuse("topP", topP, "0 < topP ≤ 1");
  if (minP !== undefined && !(minP >= 0 && minP <= 1)) refuse("minP", minP, "0 ≤ minP ≤ 1");
  if (!(penalty > 0 && Number.isFinite(penalty))) {
    refuse("repetitionPenalty", penalty, "a number above 0");
  }
  if (!(Number.isInteger(minNewTokens) && minNewTokens >= 0 && minNewTokens <= maxNewTokens)) {
    refuse("minNewTokens", minNewTokens, `an integer from 0 to maxNewTokens (${maxNewTokens})`);
  }
}

function checkRequest(
  { promptIds, n, firstBranch = 0 }: GenerateRequest,
  index: number,
  maxPositions: number,
): void {
  if (!(Number.isInteger(n) && n >= 0 && firstBranch >= 0 && firstBranch + n <= MAX_BRANCHES)) {
    throw new RgxError(
      `generate: request ${index} asks for branches ${firstBranch} … ${firstBranch + n - 1}; ` +
        `a prompt can have branches 0 … ${MAX_BRANCHES - 1}`,
    );
  }
  if (promptIds.length >= maxPositions) {
    throw new RgxError(
      `generate: the prompt of request ${index} has ${promptIds.length} tokens and leaves no room ` +
        `for an answer; the model has ${maxPositions} positions`,
      { advice: "shorten the prompt" },
    );
  }
}
