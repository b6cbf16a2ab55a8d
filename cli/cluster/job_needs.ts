/**
 * What a job needs, from the plans of its runs: whether everything is on this machine, and how many
 * cores and how much memory a process takes. The plans are made as the runs make theirs; nothing is
 * loaded.
 */
import type { ProcessNeeds } from "../../cluster/header.ts";
import { needsCard } from "../../cluster/job_script.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { largestCard } from "../../core/machine/known_cards.ts";
import { type PlannedRun, planRun } from "../../training/memory/planned_run.ts";
import type { MemoryPlan, PlanDevice } from "../../training/memory/run_memory.ts";
import { checkRankCount, idleRanks } from "../../training/run/rank_count.ts";
import { cardDevice, type PlanCard, planCard, usableBytes } from "../../training/card/plan_card.ts";
import { folderNotes } from "./folder_notes.ts";
import { missingError, missingForRun, type MissingPart } from "../plans/missing_parts.ts";

/** Host memory of a process besides what is planned: the program, its caches, reward workers. */
export const PROGRAM_BYTES = 2 * 2 ** 30;
/** The same with a graphics card, whose driver maps memory of its own. */
export const PROGRAM_WITH_CARD_BYTES = 4 * 2 ** 30;
/** Of a plan on the CPU a tenth more, for what is not planned. */
const ROOM_FACTOR = 1.1;
/** Cores of a process with a card: one for the card, others for rewards, decoding and files. */
export const CORES_WITH_CARD = 4;
/** Maximum number of cores of a process without a card. */
export const MAX_CORES = 16;
/** Columns of the widest matrix for which one more core is worth while. */
const COLUMNS_PER_CORE = 96;

/** How a job is planned. */
export interface JobPlanOptions {
  /** `--device` of the run. */
  device?: string;
  /** `--gpu-type`; "" = any. */
  gpuType?: string;
  /** Where the job runs: paths in the configuration begin there. */
  workDir?: string;
  /** Another job makes what is a path and not there yet (`--dependency`). */
  mayComeLater: boolean;
  /** Ranks of a run. */
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

/**
 * Missing parts are errors, but for paths that an earlier job makes.
 * @throws RgxError
 */
export function noteOrThrow(
  missing: readonly MissingPart[],
  { mayComeLater }: Pick<JobPlanOptions, "mayComeLater">,
  notes: string[],
): void {
  const now = missing.filter(({ fetch }) => fetch !== null || !mayComeLater);
  if (now.length > 0) throw missingError(now);
  notes.push(...missing.map(({ where, name }) => `${where}: ${name} is not there yet`));
}

/** Does work in the folder of a job: paths are looked for there. */
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
    await planRun(config, device, {
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

/** What is said of a job that does not fit the card that is known by a site's name. */
const UNCHECKED = "\nWhere the site has other cards, --no-check writes the script all the same.";

/** More than any run needs. */
const ANY_MEMORY = 2 ** 50;

/** The CPU device, as a plan sees it. */
const CPU: PlanDevice = { name: "wasm", float: "f32", allocatedBytes: 0 };

/** The card of a type; a large one where the type is any or not known. */
function cardOf(type = ""): PlanCard {
  try {
    if (type !== "") return planCard({ gpu: largestCard(type).id });
  } catch (error) {
    if (!(error instanceof RgxError)) throw error; // a site's own name
  }
  return planCard({ deviceMemory: "16TiB" });
}

/** What tells runs apart that lack different things. */
const partsOf = ({ model, data }: RunConfig) => [model, data.dataset_name, data.task_name];

/** What tells runs apart whose plans differ: not seeds, names and learning rates. */
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
