/**
 * The folder of a run: who may use it, and the files in it that are not checkpoints (`config.yaml`,
 * `run.json`, `metrics.jsonl`, `trainer_state.json`, `run.log`, `completions/`).
 * Nothing of another run is overwritten without `force`, and files that rgx did not write are never removed.
 */
import { appendLine, removeLeftovers, writeFileAtomic } from "../core/atomic_file.ts";
import { UsageError } from "../core/errors.ts";
import { type FolderLock, LOCK_FILE, lockFolder } from "../core/lock.ts";
import { encodeCompletions } from "./completions_table.ts";
import { MetricsLog } from "./metrics_log.ts";
import type { Rollout } from "./rollout.ts";

export const WARM_START = "warm-start";

export interface RunFolderOptions {
  path: string;
  /** Continue what is there; a fresh start when there is nothing yet. */
  resume: boolean;
  /** Throw an earlier run's files away. */
  force: boolean;
}

/** Files at the top of the folder that every run writes. */
const RUN_FILES: ReadonlySet<string> = new Set([
  "config.yaml",
  "run.json",
  "metrics.jsonl",
  "trainer_state.json",
  "run.log",
  "latest",
]);

/** The final model's files: a run's own where there is a run.json beside them, else somebody's model. */
const MODEL_FILES: ReadonlySet<string> = new Set([
  "README.md",
  "config.json",
  "generation_config.json",
  "model.safetensors",
  "adapter_config.json",
  "adapter_model.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "chat_template.jinja",
]);

export class RunFolder {
  #run: Record<string, unknown> = {};
  #metrics: MetricsLog | null = null;

  private constructor(readonly path: string, private readonly lock: FolderLock) {}

  /**
   * Creates or enters the folder and locks it.
   * @throws UsageError when it holds something else (and neither `resume` nor `force` is given), or when
   *   another run is using it
   */
  static async open(options: RunFolderOptions): Promise<RunFolder> {
    const { path, resume, force } = options;
    await makeFolder(path);
    // Whoever is there is named before the question whose files these are.
    const lock = await lockFolder(path);
    try {
      const names: string[] = [];
      for await (const { name } of Deno.readDir(path)) if (name !== LOCK_FILE) names.push(name);
      if (names.length > 0 && !resume) {
        if (!force) throw occupied(path, names);
        await removeRun(path, names);
      }
      if (resume) await removeLeftovers(path);
      return new RunFolder(path, lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Goes back to where the run stood when its checkpoint was written: what came later in metrics.jsonl and
   * completions/ is removed. Both 0: to the beginning.
   */
  async rewind(metricsBytes: number, step: number): Promise<void> {
    this.#metrics = await MetricsLog.open(`${this.path}/metrics.jsonl`, {
      truncateTo: metricsBytes,
    });
    await Deno.mkdir(`${this.path}/completions`, { recursive: true });
    await this.#removeCompletionsAfter(step);
  }

  /** After {@link rewind}. */
  get metrics(): MetricsLog {
    return this.#metrics!;
  }

  async writeText(name: string, text: string): Promise<void> {
    await writeFileAtomic(`${this.path}/${name}`, text);
  }

  async writeFiles(files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    for (const [name, bytes] of files) await writeFileAtomic(`${this.path}/${name}`, bytes);
  }

  /** Merges fields into run.json. */
  async updateRun(fields: Record<string, unknown>): Promise<void> {
    this.#run = { ...this.#run, ...fields };
    await this.writeText("run.json", JSON.stringify(this.#run, null, 2) + "\n");
  }

  /** run.json as an earlier session left it, or null. */
  async readRun(): Promise<Record<string, unknown> | null> {
    try {
      return JSON.parse(await Deno.readTextFile(`${this.path}/run.json`));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** One line of run.log: what happened, apart from the metrics. */
  async log(event: string, details: Record<string, unknown> = {}): Promise<void> {
    const line = JSON.stringify({ time: new Date().toISOString(), event, ...details });
    await appendLine(`${this.path}/run.log`, line);
  }

  /** completions/completions_{step:05d}.parquet */
  async writeCompletions(
    step: number,
    rollout: Rollout,
    rewardNames: readonly string[],
  ): Promise<void> {
    await writeFileAtomic(
      `${this.path}/completions/${completionsFile(step)}`,
      encodeCompletions(step, rollout, rewardNames),
    );
  }

  async #removeCompletionsAfter(step: number): Promise<void> {
    for await (const { name } of Deno.readDir(`${this.path}/completions`)) {
      const match = /^completions_(\d+)\.parquet(\.tmp-\d+)?$/.exec(name);
      if (match === null || (match[2] === undefined && Number(match[1]) <= step)) continue;
      await Deno.remove(`${this.path}/completions/${name}`);
    }
  }

  async close(): Promise<void> {
    await this.lock.release();
  }
}

export function completionsFile(step: number): string {
  return `completions_${String(step).padStart(5, "0")}.parquet`;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    const found =
      error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory
        ? "there is a file of that name"
        : error instanceof Deno.errors.PermissionDenied
        ? "permission denied"
        : null;
    if (found === null) throw error;
    throw new UsageError(`training.output_dir: cannot create ${path}: ${found}`, {
      advice: "Name a folder that you may write to.",
      cause: error,
    });
  }
}

function occupied(path: string, names: readonly string[]): UsageError {
  const run = names.some((name) => RUN_FILES.has(name) || name.startsWith("checkpoint-"));
  const some = names.toSorted().slice(0, 4).join(", ") + (names.length > 4 ? ", …" : "");
  return new UsageError(
    `${path}: output_dir is not empty: it holds ${run ? "another run" : "other files"} (${some})`,
    {
      advice: run
        ? "Use --resume to continue that run, another output_dir to keep it, or --force to replace it."
        : "Name an empty or new output_dir, or use --force to write beside these files.",
    },
  );
}

/** Removes an earlier run's files, by name. */
async function removeRun(path: string, names: readonly string[]): Promise<void> {
  const isRun = names.includes("run.json");
  const own = (name: string) =>
    RUN_FILES.has(name) || (isRun && MODEL_FILES.has(name)) || name === WARM_START ||
    name === "completions" ||
    /^checkpoint-\d+$/.test(name);
  for (const name of names) {
    if (own(name)) await Deno.remove(`${path}/${name}`, { recursive: true });
  }
}
