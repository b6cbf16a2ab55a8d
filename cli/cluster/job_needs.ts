/**
 * What a job needs, from the plans of its runs: whether everything is on this machine, and how many
 * cores and how much memory a process takes. The plans are made as the runs make theirs; nothing is
 * loaded.
 */
import { stringify } from "yaml";
import { planModels } from "../../bench/plan/model_plan.ts";
import type { ProcessNeeds } from "../../cluster/header.ts";
import { needsCard } from "../../cluster/job_script.ts";
import { compareConfigs } from "../../configs/config_difference.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { asDocument } from "../../configs/to_yaml.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { largestCard } from "../../core/machine/known_cards.ts";
import { exists } from "../../core/paths.ts";
import { isRemoteName, namedModel } from "../../core/remote/model_names.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { cardDevice, type PlanCard, planCard, usableBytes } from "../../training/card/plan_card.ts";
import { type PlannedRun, planRun } from "../../training/memory/planned_run.ts";
import { openRun } from "../../training/open_run.ts";
import type { MemoryPlan, PlanDevice } from "../../training/memory/run_memory.ts";
import { checkRankCount, idleRanks } from "../../training/run/rank_count.ts";
import { readRun } from "../../training/run/run_folder.ts";
import {
  missingData,
  missingError,
  missingForRun,
  missingModel,
  type MissingPart,
} from "../plans/missing_parts.ts";

/** Host memory of a process besides what is planned: the program, its caches, reward workers. */
const PROGRAM_BYTES = 2 * 2 ** 30;
/** Host memory of such a process with a graphics card, whose driver maps memory of its own. */
const PROGRAM_WITH_CARD_BYTES = 4 * 2 ** 30;
/** A job asks for a tenth more than the plan on the CPU, for memory that is not planned. */
const ROOM_FACTOR = 1.1;
/** Cores of a process with a card: one for the card, others for rewards, decoding and files. */
const CORES_WITH_CARD = 4;
const MAX_CORES = 16;
/** Columns of the widest matrix for which one more core is worth while. */
const COLUMNS_PER_CORE = 96;

export interface JobPlanOptions {
  /** `--device` of the run. */
  device?: string;
  /** `--gpu-type`; "" = any. */
  gpuType?: string;
  /** Where the job runs: paths in the configuration begin there. */
  workDir?: string;
  /** Whether another job makes the paths that do not exist yet (`--dependency`). */
  mayComeLater: boolean;
  ranks?: number;
}

/**
 * Checks that the runs can start, and plans what the largest one needs.
 * @param notes gets what does not prevent the job
 * @returns null where nothing can be planned, since a part is still to be made
 * @throws RgxError that names what is not here and the commands that fetch it
 */
export async function planJob(
  runs: readonly RunConfig[],
  options: JobPlanOptions,
  notes: string[],
): Promise<ProcessNeeds | null> {
  const { ranks = 1 } = options;
  for (const config of runs) checkRankCount(config, ranks);
  notes.push(...new Set(runs.flatMap((config) => idleRanks(config, ranks))));
  return await inFolder(options.workDir, async () => {
    notes.push(...await each(runs, folderNotes));
    const missing = await each(distinct(runs, partsOf), missingForRun);
    if (missing.length > 0) {
      noteOrThrow(missing, options, notes);
      return null;
    }
    const onCpu = runs.every(({ training }) => training.use_cpu);
    const card = needsCard(options.device) && !onCpu ? cardOf(options.gpuType) : null;
    const needs = await each(distinct(runs, planOf), async (config) => {
      return [await needsOfRun(config, card, ranks)];
    });
    return {
      cpus: Math.max(...needs.map(({ cpus }) => cpus)),
      memory: Math.max(...needs.map(({ memory }) => memory)),
    };
  });
}

/** Refuses missing parts, except for paths that an earlier job makes. @throws RgxError */
function noteOrThrow(
  missing: readonly MissingPart[],
  { mayComeLater }: Pick<JobPlanOptions, "mayComeLater">,
  notes: string[],
): void {
  const now = missing.filter(({ fetch }) => fetch !== null || !mayComeLater);
  if (now.length > 0) throw missingError(now);
  notes.push(...missing.map(({ where, name }) => `${where}: ${name} does not exist yet`));
}

/** Does work with the folder of a job as working directory, so that paths are found from there. */
export async function inFolder<T>(
  folder: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const before = Deno.cwd();
  if (folder !== undefined) Deno.chdir(folder);
  try {
    return await work();
  } finally {
    Deno.chdir(before);
  }
}

async function needsOfRun(
  config: RunConfig,
  card: PlanCard | null,
  ranks: number,
): Promise<ProcessNeeds> {
  const device = card === null ? CPU : cardDevice(card);
  let memory: MemoryPlan | undefined, about: Pick<PlannedRun, "sizes"> | undefined;
  try {
    await planRun(config, device, await openRun(config), {
      ranks,
      availableBytes: card === null ? ANY_MEMORY : usableBytes(card),
      planned: (plan, { sizes }) => {
        memory = plan;
        about = { sizes };
      },
    });
  } catch (error) {
    if (!(error instanceof UsageError) || memory === undefined) throw error;
    const where = card?.name == null ? "" : `${card.name}: `;
    throw new UsageError(where + error.message, {
      advice: `${error.advice ?? ""}${UNCHECKED}`.trim(),
      cause: error,
    });
  }
  const { hiddenSize, intermediateSize } = about!.sizes.config;
  const { peak, parts, largestBuffer } = memory!;
  if (card !== null) {
    const staged = parts.checkpoint + 2 * largestBuffer.bytes;
    return { cpus: CORES_WITH_CARD, memory: PROGRAM_WITH_CARD_BYTES + staged };
  }
  const columns = Math.max(hiddenSize, intermediateSize);
  return {
    cpus: Math.min(MAX_CORES, Math.max(2, Math.ceil(columns / COLUMNS_PER_CORE))),
    memory: PROGRAM_BYTES + ROOM_FACTOR * peak,
  };
}

/** Advice for a job that does not fit the card that a site's name stands for. */
const UNCHECKED = "\nWhere the site has other cards, --no-check writes the script all the same.";

/** A size that is larger than any run needs. */
const ANY_MEMORY = 2 ** 50;

const CPU: PlanDevice = { name: "wasm", float: "f32", allocatedBytes: 0 };

/** The card of a type; a large card if any type will do, or the type is unknown. */
function cardOf(type = ""): PlanCard {
  try {
    if (type !== "") return planCard({ gpu: largestCard(type).id });
  } catch (error) {
    if (!(error instanceof RgxError)) throw error; // a site's own name
  }
  return planCard({ deviceMemory: "16TiB" });
}

/** Runs for which this is equal lack the same parts. */
const partsOf = ({ model, data }: RunConfig) => [model, data.dataset_name, data.task_name];

/** Runs with equal keys have the same plan: seeds, names and learning rates are left out. */
function planOf(config: RunConfig): unknown {
  const { seed: _seed, learning_rate: _rate, output_dir: _folder, ...training } = config.training;
  return { ...config, training, logging: null };
}

function distinct<T>(items: readonly T[], key: (item: T) => unknown): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(key(item)), item])).values()];
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R[]>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(...await work(item));
  return results;
}

/** Keys that a run does not store, or that name its folder. */
const NOT_COMPARED = /^training\.(?:output_dir|nnodes|n_gpus_per_node)$/;

const STATES: Readonly<Record<string, string>> = {
  completed: "holds a finished run: the job trains only the steps that training.max_steps adds",
  running:
    "holds a run that is at work, or was killed: the job goes on with it, and ends at once " +
    "if another process is still at work",
};

async function folderNotes(config: RunConfig): Promise<string[]> {
  const { output_dir: folder } = config.training, run = await readRun(folder);
  if (run === null) return [];
  const earlier = await Deno.readTextFile(`${folder}/config.yaml`).catch(() => "");
  // Keys that only one of the two configurations has come from another version.
  const changed = compareConfigs(earlier, stringify(asDocument(config)))
    .filter(({ key, before, after }) =>
      before !== null && after !== null && before !== after && !NOT_COMPARED.test(key)
    );
  const state = STATES[String(run["status"])] ?? "holds a run: the job goes on with it";
  const values = changed.map(({ key, before, after }) => `${key} (there ${before}, here ${after})`);
  return [
    `${folder} ${state}`,
    ...(values.length === 0 ? [] : [`${folder} was made with other values: ${values.join(", ")}`]),
  ];
}

/** With a card, weights pass through buffers of at most this size, two at a time. */
const STAGED_BYTES = 2 * 2 ** 32;
/** On the CPU: weights, copies of some of them in the layout of the kernels, keys and values. */
const MEMORY_PER_WEIGHT_BYTE = 2;

/**
 * Checks that the benchmark can start.
 * @param tasks as `rgx bench` takes them, one each
 * @param further flags of `rgx bench` after `--`
 * @returns null where nothing can be planned, since a model is still to be made, or is on a server
 * @throws RgxError that names what is not here and the commands that fetch it
 */
export async function planBench(
  models: readonly string[],
  tasks: readonly string[],
  further: readonly string[],
  options: JobPlanOptions,
  notes: string[],
): Promise<ProcessNeeds | null> {
  return await inFolder(options.workDir, async () => {
    const local = models.filter((name) => !isRemoteName(name));
    const missing: MissingPart[] = [];
    for (const { place: name } of local.map(namedModel)) {
      const isRun = await exists(`${name}/run.json`);
      const part = isRun ? null : await missingModel("--models", name, true);
      if (part !== null) missing.push(part);
    }
    for (const task of tasks) {
      const place = publishedPlace(task);
      const part = place === null ? null : await missingData("--tasks", task, place, "test");
      if (part !== null) missing.push(part);
    }
    if (missing.length > 0) noteOrThrow(missing, options, notes);
    if (local.length === 0 || missing.length > 0) return null;
    const planned = await planModels(local, {
      seed: 0,
      remote: { address: "", format: "chat" },
      includeBase: !further.includes("--no-base"),
    });
    notes.push(...planned.warnings);
    let largest = 0;
    for (const { where } of planned.models) {
      if (where.kind === "local") largest = Math.max(largest, await weightBytes(where.weights));
    }
    return needsCard(options.device)
      ? {
        cpus: CORES_WITH_CARD,
        memory: PROGRAM_WITH_CARD_BYTES + Math.min(largest, STAGED_BYTES),
      }
      : { cpus: MAX_CORES, memory: PROGRAM_BYTES + MEMORY_PER_WEIGHT_BYTE * largest };
  });
}

/** Bytes of the weights of a model's folder, or of a GGUF file. */
async function weightBytes(path: string): Promise<number> {
  const info = await Deno.stat(path);
  if (info.isFile) return info.size;
  let sum = 0;
  for await (const { name } of Deno.readDir(path)) {
    if (/\.(?:safetensors|bin|gguf)$/.test(name)) sum += (await Deno.stat(`${path}/${name}`)).size;
  }
  return sum;
}
