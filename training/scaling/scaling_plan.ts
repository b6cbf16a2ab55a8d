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

export interface RankLayout {
  nodes: number;
  /** Cards of a node, one rank each. */
  gpus: number;
  /** Bytes a second of a node's network, as its data sheet says. Default: 100 Gb/s. */
  network?: number;
  /** Mean time between failures of a node, in seconds. */
  nodeFailures?: number;
}

const NETWORK_BYTES = 100e9 / 8;
/**
 * 419 unexpected interruptions in 54 days of 16,384 cards in nodes of 8 (The Llama 3 Herd of
 * Models, arXiv 2407.21783, section 3.3.4).
 */
const NODE_FAILURE_SECONDS = 54 * 86_400 * (16_384 / 8) / 419;

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

/** The plan, as `rgx doctor --json` prints it. */
export interface ScalingPlan {
  ranks: number;
  nodes: number;
  gpus_per_node: number;
  network_bytes_per_second: number;
  node_mtbf_seconds: number;
  reduction: Reduction;
  /** Bytes of the host's memory that a rank needs for the sum of the gradients. */
  host_bytes_per_rank: number;
  /**
   * What a rank sends; it receives as many. `values`: those that it has updated, where each rank
   * updates a part (`training.zero`). `leaves_node`: of all, by all ranks of a node.
   */
  wire_bytes_per_step: Record<"gradients" | "values" | "completions" | "leaves_node", number>;
  seconds_per_step: {
    generation: number;
    training: number;
    /** Sum of the gradients over the ranks, and exchange of the completions. */
    reduction: number;
    exchange: number;
    update: number;
    /** What ranks wait for the slowest one. */
    waiting: number;
    together: number;
  };
  seconds_per_step_of_one_rank: number;
  speedup: number;
  efficiency: number;
  /** Maximum numbers of a rank. */
  prompts_per_rank: number;
  micro_batches_per_rank: number;
  /**
   * How often to save, and what failures cost. `lost_…`: share of the time that is not steps which
   * count: checkpoints, lost steps, restarts.
   */
  save: {
    mtbf_seconds: number;
    checkpoint_seconds: number;
    restart_seconds: number;
    recommended_steps: number;
    young_steps: number;
    configured_steps: number;
    lost_with_recommended: number;
    lost_with_configured: number;
  };
  /** What makes ranks idle, and what to set. */
  notes: string[];
}

/** @param bus bytes a second @throws RangeError when the time of the plan is not known */
export async function scalingPlan(
  config: RunConfig,
  { time, memory }: Pick<CardPlan, "time" | "memory">,
  { network = NETWORK_BYTES, nodeFailures = NODE_FAILURE_SECONDS, nodes, gpus }: RankLayout,
  bus: number,
): Promise<ScalingPlan> {
  if (time === null) throw new RangeError("the time of a step is not known");
  const { training } = config, ranks = nodes * gpus;
  const layout = { nodes, gpus, network, nodeFailures };
  const { promptsPerGeneration, generationBatchSize } = batchSizes(training);
  const micro = training.gradient_accumulation_steps, isDivided = training.zero === 1;
  const prompts = Math.ceil(promptsPerGeneration / ranks), microBatches = Math.ceil(micro / ranks);
  const { gradients: bytes, trained } = memory.parts, others = (ranks - 1) / ranks;
  const reduction = reductionOf(training.reduction, micro, bytes), exact = reduction === "exact";
  const partials = exact ? maxNodes(micro, ranks) : 1;
  const generation = await time.generationOf(prompts);
  const work = generation + time.training * microBatches / micro;
  // Every rank sends its share to all others.
  const completions = others * generationBatchSize * time.completionTokens * BYTES_PER_TOKEN;
  const stepWith = (halves: boolean) => {
    // A slice of every partial sum to every other rank, then the summed slices to all. If states
    // are divided, a rank needs only its slice of the sum, and sends the values that it updates;
    // but MPI sums as a whole (`fast` in float32).
    const byMpi = !exact && !halves, isWhole = !isDivided || byMpi;
    const gradients = (partials + (isWhole ? 1 : 0)) * (halves ? bytes / 2 : bytes) * others;
    const values = isDivided ? trained * others : 0;
    const outside = ranks === 1 ? 0 : (ranks - gpus) / (ranks - 1);
    const leaves_node = gpus * outside * (gradients + values + completions);
    // The card adds up its micro-batches; the host reads the partial sums, adds and writes back.
    const added = byMpi ? 0 : HOST_ADD + (halves ? HOST_HALVES : 0);
    const host = (partials + 1) * bytes / bus + partials * bytes / 4 * added;
    const buckets = Math.max(1, Math.ceil(bytes / BUCKET_BYTES));
    const within = byMpi ? NODE_BYTES_MPI : NODE_BYTES;
    const seconds = {
      generation,
      training: work - generation,
      reduction: ranks === 1 ? 0 : host + wireSeconds(gradients, 2 * buckets, layout, within),
      exchange: ranks === 1 ? 0 : wireSeconds(completions, 1, layout),
      // The card updates its part, and the values go through the host.
      update: time.update +
        (values === 0 ? 0 : values / bus + wireSeconds(values, buckets, layout)),
      waiting: work * (meanSlowest(ranks) - 1),
    };
    const together = Object.values(seconds).reduce((sum, part) => sum + part, 0);
    return {
      wire: { gradients, values, completions, leaves_node },
      seconds: { ...seconds, together },
      speedup: single / together,
    };
  };
  const single = time.generation + time.training + time.update;
  const halves = training.reduce_dtype === "bfloat16", step = stepWith(halves);
  const { wire, seconds, speedup } = step;
  const slowerNotes = () => {
    if (ranks === 1 || speedup >= 1) return [];
    const faster = stepWith(true).speedup;
    const sums = halves || faster <= speedup
      ? ""
      : `training.reduce_dtype=bfloat16 sums gradients in 16 bits (${faster.toFixed(2)} ×), `;
    return [
      `${counted(ranks, "card")} are slower than one (${speedup.toFixed(2)} ×): ${sums}` +
      (bytes > SMALL_GRADIENTS ? "a lora section has small gradients, and " : "") +
      "more prompts a step give each card more to do; else take one card",
    ];
  };
  return {
    ranks,
    nodes,
    gpus_per_node: gpus,
    network_bytes_per_second: network,
    node_mtbf_seconds: nodeFailures,
    reduction,
    host_bytes_per_rank: ranks === 1 ? 0 : hostBytes(training, bytes, partials, exact, ranks),
    wire_bytes_per_step: wire,
    seconds_per_step: seconds,
    seconds_per_step_of_one_rank: single,
    speedup,
    efficiency: speedup / ranks,
    prompts_per_rank: prompts,
    micro_batches_per_rank: microBatches,
    save: savePlan(config, time, seconds.together, memory, layout),
    notes: [...idleRanks(config, ranks), ...slowerNotes()],
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

/** Seconds in which a rank sends `bytes` to the others, in `calls` calls to all of them. */
function wireSeconds(
  bytes: number,
  calls: number,
  layout: Required<RankLayout>,
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
  { nodes, nodeFailures }: Required<RankLayout>,
): ScalingPlan["save"] {
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
    mtbf_seconds: times.betweenFailures,
    checkpoint_seconds: times.checkpoint,
    restart_seconds: times.restart,
    recommended_steps: recommended,
    young_steps: inSteps(youngInterval(times)),
    configured_steps: now,
    lost_with_recommended: lost(recommended),
    lost_with_configured: lost(now),
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
  checkpoint: number;
  /** From a failure to the first new work. */
  restart: number;
}

export function youngInterval({ betweenFailures, checkpoint }: SaveTimes): number {
  return Math.sqrt(2 * checkpoint * betweenFailures);
}

export function dalyInterval({ betweenFailures: m, checkpoint: c }: SaveTimes): number {
  if (c >= 2 * m) return m;
  const x = c / (2 * m);
  return Math.sqrt(2 * c * m) * (1 + Math.sqrt(x) / 3 + x / 9) - c;
}

/** Time by the time of its work alone, which is cut into `interval` seconds. */
export function expectedSlowdown(interval: number, times: SaveTimes): number {
  const { betweenFailures: m, checkpoint, restart } = times;
  return m * Math.exp(restart / m) * Math.expm1((interval + checkpoint) / m) / interval;
}
