/**
 * The plan of a run on several ranks, one graphics card each, that need not be here: memory and
 * bytes on the wire of a rank, the time of a step, what is lost to failures, and how often to save.
 * docs/scaling.md has the formulas and says where they stop being true.
 */
import { batchSizes } from "../../configs/batch_sizes.ts";
import { stepInterval } from "../../configs/step_interval.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { counted } from "../../core/counted.ts";
import { nodesOf, shareOf } from "../../cluster/ranks/sum_tree.ts";
import { CHUNK, WINDOW } from "../../cluster/ranks/vector_sum.ts";
import type { CardPlan, CardTime } from "../card/card_plan.ts";
import { idleRanks } from "../run/rank_count.ts";
import { MESSAGE, type Reduction, reductionOf } from "../step/gradient_sum.ts";
import type { RankLayout } from "./layout.ts";

/** Share of a network's speed that messages of some megabytes reach. Assumed. */
const NETWORK_SHARE = 0.7;
/** Seconds of a message between nodes. Assumed. */
const NETWORK_LATENCY = 20e-6;
/**
 * Bytes a second between the ranks of a node, together: of our own sums, and of MPI's, with its
 * additions. Seconds of a message. Measured.
 */
const NODE_BYTES = 8e9, NODE_BYTES_MPI = 4.7e9, NODE_LATENCY = 40e-6;
/** Seconds in which one rank adds a value on the host, and to convert it to halves. Measured. */
const HOST_ADD = 0.1e-9, HOST_HALVES = 0.9e-9;
/** Bytes of a message of a gradient. */
const BUCKET_BYTES = 4 * WINDOW;
/** Bytes that ranks exchange for a generated token: its id, its log-probabilities, its text. */
const BYTES_PER_TOKEN = 32;
/** Bytes a second of a file system that nodes share. Assumed. */
const DISK_BYTES = 1e9;
/** Seconds from a failure to the start of the program: SLURM's credential, the queue. Assumed. */
const QUEUE_SECONDS = 180;
/**
 * The logarithm of a rank's time for a step varies with this standard deviation: completions have
 * different lengths, cards different clocks, nodes other users. Assumed.
 */
const STRAGGLER_SIGMA = 0.05;
/** The mean of the largest of 2^n standard normal values, for n = 0, 1 … */
// deno-fmt-ignore
const LARGEST = [
  0, 0.56, 1.03, 1.42, 1.77, 2.07, 2.34, 2.59, 2.83, 3.04, 3.25, 3.44, 3.63, 3.8, 3.97, 4.13, 4.29,
  4.44, 4.59, 4.73, 4.87, 5.01, 5.14, 5.27, 5.39, 5.52, 5.64,
];

/** The mean time of the slowest of some ranks, as a multiple of the mean time of a rank. */
export function meanSlowest(ranks: number): number {
  const n = Math.log2(ranks),
    below = Math.floor(n),
    above = Math.min(below + 1, LARGEST.length - 1);
  const largest = LARGEST[below]! + (n - below) * (LARGEST[above]! - LARGEST[below]!);
  return Math.exp(STRAGGLER_SIGMA * largest);
}
/** Bytes of gradients that an adapter rarely has. */
const SMALL_GRADIENTS = 1e9;

/** Bytes that a rank sends in a step; it receives as many. */
export interface WireBytes {
  /** The gradients. */
  gradients: number;
  /** The updated values, where each rank updates a part (`training.zero`). */
  values: number;
  /** The completions with their scores. */
  completions: number;
  /** Of all, what leaves the node, of all its ranks. */
  leavesNode: number;
}

/** Seconds of a step. */
export interface StepSeconds {
  generation: number;
  training: number;
  /** Sum of the gradients over the ranks, and exchange of the completions. */
  reduction: number;
  exchange: number;
  update: number;
  /** What ranks wait for the slowest one. */
  waiting: number;
  together: number;
}

/** How often to save, and what failures cost. */
export interface SavePlan extends SaveTimes {
  /** Of steps. */
  recommended: number;
  young: number;
  now: number;
  /** Share of the time that is not steps which count: checkpoints, lost steps, restarts. */
  lostWithRecommended: number;
  lostWithNow: number;
}

export interface ScalingPlan {
  ranks: number;
  reduction: Reduction;
  /** Whether the optimizer's states are divided over the ranks. */
  divided: boolean;
  /** Bytes of the host's memory that a rank needs for the sum of the gradients. */
  hostBytes: number;
  wire: WireBytes;
  step: StepSeconds;
  /** Of one rank. */
  single: number;
  speedup: number;
  efficiency: number;
  /** Maximum numbers of prompts and micro-batches of a rank, and the numbers of all ranks. */
  prompts: number;
  microBatches: number;
  allPrompts: number;
  allMicroBatches: number;
  /** What makes ranks idle, and what to set. */
  notes: string[];
  save: SavePlan;
}

/** @throws RangeError when the time of the plan is not known */
export async function scalingPlan(
  config: RunConfig,
  { time, memory }: Pick<CardPlan, "time" | "memory">,
  layout: RankLayout,
  card: { bus: number },
): Promise<ScalingPlan> {
  if (time === null) throw new RangeError("the time of a step is not known");
  const { training } = config, ranks = layout.nodes * layout.gpus;
  const { promptsPerGeneration } = batchSizes(training);
  const micro = training.gradient_accumulation_steps;
  const prompts = Math.ceil(promptsPerGeneration / ranks);
  const microBatches = Math.ceil(micro / ranks), generation = await time.generationOf(prompts);
  const bytes = memory.parts.gradients;
  const reduction = reductionOf(training.reduction, micro, bytes), exact = reduction === "exact";
  const nodes = exact ? maxNodes(micro, ranks) : 1;
  const { trained } = memory.parts;
  const wire = wireBytes({ bytes, trained, nodes, exact }, time, training, layout);
  const stepWith = ({ wire, halves }: { wire: WireBytes; halves: boolean }) =>
    stepSeconds({
      time,
      layout,
      wire,
      generation,
      microBatches,
      micro,
      bytes,
      nodes,
      byMpi: !exact && !halves,
      halves,
      card,
    });
  const halves = training.reduce_dtype === "bfloat16";
  const step = stepWith({ wire, halves });
  const { single } = step, { together } = step.seconds, speedup = single / together;
  /** Where the ranks are slower than one card: that they are, and what helps. */
  const slowerNotes = () => {
    if (ranks === 1 || speedup >= 1) return [];
    const inHalves = { ...training, reduce_dtype: "bfloat16" as const };
    const halved = stepWith({
      halves: true,
      wire: wireBytes({ bytes, trained, nodes, exact }, time, inHalves, layout),
    });
    const faster = single / halved.seconds.together;
    const sums = halves || faster <= speedup
      ? ""
      : `training.reduce_dtype=bfloat16 sums gradients in 16 bits (${faster.toFixed(2)} ×), `;
    const many = counted(ranks, "card");
    return [
      `${many} are slower than one (${speedup.toFixed(2)} ×): ${sums}` +
      (bytes > SMALL_GRADIENTS ? "a lora section has small gradients, and " : "") +
      "more prompts a step give each card more to do; else take one card",
    ];
  };
  return {
    ranks,
    reduction,
    divided: memory.parts.kept.shards > 1,
    hostBytes: ranks === 1 ? 0 : hostBytes(training, bytes, nodes, exact, ranks),
    wire,
    step: step.seconds,
    single,
    speedup,
    efficiency: speedup / ranks,
    prompts,
    microBatches,
    allPrompts: promptsPerGeneration,
    allMicroBatches: micro,
    notes: [...idleRanks(config, ranks), ...slowerNotes()],
    save: savePlan(config, time, together, memory, layout),
  };
}

/**
 * Windows of the partial sums, of which one is summed and one read, and the messages of a chunk of
 * both directions.
 */
function hostBytes(
  { zero, reduce_dtype }: RunConfig["training"],
  bytes: number,
  nodes: number,
  exact: boolean,
  ranks: number,
): number {
  if (!exact && reduce_dtype === "float32") return Math.min(bytes, 4 * MESSAGE);
  const window = Math.min(bytes, BUCKET_BYTES), messages = Math.min(window, 4 * ranks * CHUNK);
  return 2 * nodes * (window + messages) + (zero === 1 ? bytes / ranks : 0);
}

/** Maximum number of nodes of the tree that a rank sends. */
function maxNodes(micro: number, ranks: number): number {
  let max = 0;
  for (let rank = 0; rank < ranks; rank++) {
    max = Math.max(max, nodesOf(...shareOf(micro, rank, ranks), micro).length);
  }
  return max;
}

/** What is summed: gradients and trained values in bytes, and the partial sums of a rank. */
interface Summed {
  bytes: number;
  trained: number;
  nodes: number;
  exact: boolean;
}

function wireBytes(
  { bytes, trained, nodes, exact }: Summed,
  time: CardTime,
  training: RunConfig["training"],
  { nodes: machines, gpus }: RankLayout,
): WireBytes {
  const ranks = machines * gpus, others = (ranks - 1) / ranks;
  const isDivided = training.zero === 1;
  // A slice of every partial sum to every other rank, then the summed slices to all. If states are
  // divided, a rank needs only its slice of the sum, and sends the values that it updates; but MPI
  // sums as a whole (`fast` in float32).
  const isHalf = training.reduce_dtype === "bfloat16", ofSlices = exact || isHalf;
  const sent = isHalf ? bytes / 2 : bytes;
  const gradients = (nodes + (isDivided && ofSlices ? 0 : 1)) * sent * others;
  const values = isDivided ? trained * others : 0;
  const { generationBatchSize } = batchSizes(training);
  const all = generationBatchSize * time.completionTokens * BYTES_PER_TOKEN;
  // Every rank sends its share to all others.
  const completions = all / ranks * (ranks - 1);
  const outside = ranks === 1 ? 0 : (ranks - gpus) / (ranks - 1);
  const leaves = gradients + values + completions;
  return { gradients, values, completions, leavesNode: gpus * outside * leaves };
}

interface StepInput {
  time: CardTime;
  layout: RankLayout;
  wire: WireBytes;
  /** Seconds to generate for the prompts of a rank. */
  generation: number;
  microBatches: number;
  micro: number;
  bytes: number;
  /** Partial sums of a rank. */
  nodes: number;
  /** Whether MPI sums, and not the ranks. */
  byMpi: boolean;
  /** Whether gradients are bfloat16 on the wire. */
  halves: boolean;
  card: { bus: number };
}

function stepSeconds(input: StepInput): { seconds: StepSeconds; single: number } {
  const { time, layout, wire, generation, microBatches, micro, bytes, nodes, byMpi, halves, card } =
    input;
  const ranks = layout.nodes * layout.gpus;
  const training = time.training * microBatches / micro;
  // The card adds up its micro-batches; the host reads the partial sums, adds and writes back.
  const added = byMpi ? 0 : HOST_ADD + (halves ? HOST_HALVES : 0);
  const host = (nodes + 1) * bytes / card.bus + nodes * bytes / 4 * added;
  const buckets = Math.max(1, Math.ceil(bytes / BUCKET_BYTES));
  const within = byMpi ? NODE_BYTES_MPI : NODE_BYTES;
  const reduction = ranks === 1
    ? 0
    : host + wireSeconds(wire.gradients, 2 * buckets, layout, within);
  const exchange = ranks === 1 ? 0 : wireSeconds(wire.completions, 1, layout);
  const work = generation + training;
  const waiting = work * (meanSlowest(ranks) - 1);
  // The card updates its part, and the values go through the host.
  const values = wire.values === 0
    ? 0
    : wire.values / card.bus + wireSeconds(wire.values, buckets, layout);
  const update = time.update + values;
  const together = work + waiting + reduction + exchange + update;
  const single = time.generation + time.training + time.update;
  return {
    single,
    seconds: { generation, training, reduction, exchange, update, waiting, together },
  };
}

/** Seconds in which a rank sends `bytes` to the others, in `calls` calls to all of them. */
function wireSeconds(
  bytes: number,
  calls: number,
  layout: RankLayout,
  within = NODE_BYTES,
): number {
  const { nodes, gpus, network } = layout, ranks = nodes * gpus;
  const outside = (ranks - gpus) / (ranks - 1), inside = 1 - outside;
  const latency = calls *
    ((ranks - gpus) * NETWORK_LATENCY + (gpus - 1) * NODE_LATENCY);
  // The ranks of a node share its network and its memory.
  const across = gpus * outside * bytes / (NETWORK_SHARE * network);
  return latency + Math.max(across, gpus * inside * bytes / within);
}

function savePlan(
  { training }: RunConfig,
  time: CardTime,
  step: number,
  { parts }: CardPlan["memory"],
  { nodes, nodeFailures }: RankLayout,
): SavePlan {
  const saved = parts.trained + parts.optimizer * parts.kept.shards;
  const times = {
    betweenFailures: nodeFailures / nodes,
    checkpoint: saved / DISK_BYTES,
    restart: QUEUE_SECONDS + time.upload + (parts.frozen + saved) / DISK_BYTES,
  };
  const steps = Math.max(1, time.steps);
  const inSteps = (seconds: number) => Math.min(steps, Math.max(1, Math.round(seconds / step)));
  const recommended = inSteps(dalyInterval(times));
  const now = Math.min(steps, stepInterval(training.save_steps, steps));
  const lost = (saveSteps: number) => 1 - 1 / expectedSlowdown(saveSteps * step, times);
  return {
    ...times,
    recommended,
    young: inSteps(youngInterval(times)),
    now,
    lostWithRecommended: lost(recommended),
    lostWithNow: lost(now),
  };
}

/**
 * The times that decide how often a run should save, in seconds: checkpoints cost time, and a
 * failure costs what was done since the last one. Failures are assumed to come independently of one
 * another, at a constant rate.
 *
 * Sources: J. W. Young, A first order approximation to the optimum checkpoint interval (CACM 1974);
 * J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps (Future
 * Generation Computer Systems 22, 2006), equations 13, 20 and 37.
 */
export interface SaveTimes {
  /** Mean time between failures of the whole job. */
  betweenFailures: number;
  /** To write a checkpoint. */
  checkpoint: number;
  /** From a failure to the first new work. */
  restart: number;
}

/** Young's interval of work between two checkpoints, in seconds. */
export function youngInterval({ betweenFailures, checkpoint }: SaveTimes): number {
  return Math.sqrt(2 * checkpoint * betweenFailures);
}

/** Daly's interval of work between two checkpoints, in seconds. */
export function dalyInterval({ betweenFailures: m, checkpoint: c }: SaveTimes): number {
  if (c >= 2 * m) return m;
  const x = c / (2 * m);
  return Math.sqrt(2 * c * m) * (1 + Math.sqrt(x) / 3 + x / 9) - c;
}

/**
 * Daly's expected time of a run, as a multiple of the time of its work alone.
 * @param interval seconds of work between two checkpoints
 */
export function expectedSlowdown(interval: number, times: SaveTimes): number {
  const { betweenFailures: m, checkpoint, restart } = times;
  return m * Math.exp(restart / m) * Math.expm1((interval + checkpoint) / m) / interval;
}
