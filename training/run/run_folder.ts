/**
 * The folder of a run: the lock that lets only one run use it, and its files that are not
 * checkpoints (`config.yaml`, `run.json`, `metrics.jsonl`, `trainer_state.json`, `run.log`,
 * `completions/`). Files of another run are not overwritten without `force`, and files that rgx did
 * not write are never removed.
 */
import {
  appendLine,
  explainFileError,
  type FileContent,
  removeLeftovers,
  writeFileAtomic,
} from "../../core/atomic_file.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { type FolderLock, LOCK_FILE, lockFolder } from "../../core/lock.ts";
import { exists } from "../../core/paths.ts";
import { namedCheckpoint } from "../checkpoint/checkpoint_files.ts";
import { WARM_START } from "../checkpoint/checkpoint_folders.ts";
import { idsOf } from "../../bench/dialogue/segments.ts";
import { TRANSCRIPT } from "../../bench/dialogue/transcript.ts";
import { promptOf, type Rollout, type RolloutRow, type SampledRow } from "../rollout/rollout.ts";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { ExtraValue } from "../../rewards/types.ts";
import { entryJson } from "../../tasks/entry_json.ts";

export interface RunFolderOptions {
  path: string;
  /** Continue the run, or from a checkpoint of this name; a fresh start if there is none. */
  resume: boolean | string;
  force: boolean;
}

/** Files that every run writes directly in the folder. */
const RUN_FILES: ReadonlySet<string> = new Set([
  "config.yaml",
  "run.json",
  "metrics.jsonl",
  "trainer_state.json",
  "run.log",
  "latest",
  "best",
  // Written by the trackers (training/tracking/).
  "tracking.json",
]);

const RUN_FOLDERS = new RegExp(`^(${WARM_START}|completions|checkpoint-\\d+)$`);

/** They belong to a run if there is a run.json beside them. */
const COMPANIONS: ReadonlySet<string> = new Set([
  "runs",
  "wandb",
  "report.md",
  "report.html",
  "eval_before.jsonl",
  "eval_after.jsonl",
  "notes.json", // of the dashboard
]);

/** With a run.json beside them they are a run's, otherwise somebody's model. */
const MODEL_FILES: ReadonlySet<string> = new Set([
  "README.md",
  "config.json",
  "generation_config.json",
  "model.safetensors",
  "adapter_config.json",
  "adapter_model.safetensors",
  "initial_adapter.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "chat_template.jinja",
]);

export class RunFolder {
  #run: Record<string, unknown> = {};
  #metrics: MetricsLog | null = null;

  private constructor(readonly path: string, private readonly lock: FolderLock | null) {}

  /** The folder to be read only, which another process may be writing; it need not exist. */
  static unlocked(path: string): RunFolder {
    return new RunFolder(path, null);
  }

  /**
   * Opens the folder, creates it if necessary, and locks it.
   * @throws UsageError when it holds other files (and neither `resume` nor `force` is given), or
   *   when another run is using it
   */
  static async open(options: RunFolderOptions): Promise<RunFolder> {
    const { path, resume, force } = options;
    await makeFolder(path);
    // First the lock: if another run is active, its name matters more than whose files these are.
    const lock = await lockFolder(path);
    try {
      const names = await namesIn(path);
      refuseOccupied(options, names);
      if (names.some(isOfRun)) await removeLeftovers(path);
      if (names.includes(WARM_START)) await removeLeftovers(`${path}/${WARM_START}`);
      if (force && !resume) await removeRun(path, await namesIn(path));
      return new RunFolder(path, lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Looks at the folder as it is now.
   * @returns why {@link open} would refuse it; else null
   * @throws UsageError for a checkpoint or a folder that cannot be there
   */
  static async check(options: RunFolderOptions): Promise<string | null> {
    const { path, resume } = options;
    if (typeof resume === "string") await namedCheckpoint(path, resume);
    const info = await Deno.stat(path).catch((error) => error);
    // A file on the way: the reason is thrown.
    if (info instanceof Deno.errors.NotADirectory) await makeFolder(path);
    if (info instanceof Error) return null; // `open` would create it
    if (!info.isDirectory) await makeFolder(path); // throws the reason
    try {
      refuseOccupied(options, await namesIn(path));
      return null;
    } catch (error) {
      if (!(error instanceof UsageError) || resume !== false) throw error;
      return `the run would be refused: ${error.message}. ${error.advice}`;
    }
  }

  /**
   * Goes back to the state of a checkpoint: removes what came later in metrics.jsonl and
   * completions/. With 0 and 0, to the beginning of the run.
   */
  async rewind(metricsBytes: number, step: number): Promise<void> {
    this.#metrics = await MetricsLog.open(`${this.path}/metrics.jsonl`, metricsBytes);
    const folder = `${this.path}/completions`;
    await Deno.mkdir(folder, { recursive: true });
    for await (const { name } of Deno.readDir(folder)) {
      const match = /^completions_(\d+)\.parquet(\.tmp-\d+)?$/.exec(name);
      if (match === null || (match[2] === undefined && Number(match[1]) <= step)) continue;
      await Deno.remove(`${folder}/${name}`);
    }
  }

  get metrics(): MetricsLog {
    return this.#metrics!;
  }

  async write(name: string, content: string | FileContent): Promise<void> {
    await writeFileAtomic(`${this.path}/${name}`, content);
  }

  async updateRun(fields: Record<string, unknown>): Promise<void> {
    this.#run = { ...this.#run, ...fields };
    await this.write("run.json", JSON.stringify(this.#run, null, 2) + "\n");
  }

  async log(event: string, details: Record<string, unknown> = {}): Promise<void> {
    const line = JSON.stringify({ time: new Date().toISOString(), event, ...details });
    await appendLine(`${this.path}/run.log`, line);
  }

  /** False if another run has taken the folder over, or if its files were deleted. */
  async isOurs(): Promise<boolean> {
    return this.lock !== null && await this.lock.isOurs() && await this.isThere();
  }

  /** Whether the files of the run still exist. A single missing file does not end a run. */
  async isThere(): Promise<boolean> {
    return await exists(`${this.path}/run.json`) || await exists(`${this.path}/config.yaml`);
  }

  /** The reason why {@link isOurs} is false. */
  async lost(cause?: unknown): Promise<RgxError> {
    return await this.isThere()
      ? new RgxError(`${this.path}: another run has taken this folder over`, {
        advice: "This one was silent for too long (a node or a file server that was away). " +
          "Nothing more is written.",
      })
      : new RgxError(`${this.path}: the files of this run are gone`, {
        advice: "They were deleted or moved while it was at work. Nothing more is written; where " +
          "they were moved to, --output-dir with --resume goes on.",
        cause,
      });
  }

  keepAlive(): void {
    this.lock?.keepAlive();
  }

  async close(): Promise<void> {
    await this.lock?.release();
  }
}

/** The device of the run's last session; null: there was none. */
export async function deviceOfRun(folder: string): Promise<string | null> {
  const name = (await readRun(folder))?.["device"];
  return typeof name === "string" ? name : null;
}

/** The content of run.json from an earlier session, or null. */
export async function readRun(folder: string): Promise<Record<string, unknown> | null> {
  try {
    return JSON.parse(await Deno.readTextFile(`${folder}/run.json`));
  } catch (error) {
    const isNone = error instanceof Deno.errors.NotFound || error instanceof SyntaxError ||
      error instanceof Deno.errors.NotADirectory;
    if (isNone) return null;
    throw error;
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (cause) {
    const found = cause instanceof Deno.errors.AlreadyExists
      ? "there is a file of that name"
      : cause instanceof Deno.errors.NotADirectory
      ? "a part of this path is a file"
      : (explainFileError(cause, "create the folder", path) as Error).message
        .replace(/^.*: cannot create the folder: /, "")
        .replace(/ \(os error \d+\).*$/, "");
    throw new UsageError(`training.output_dir: cannot create ${path}: ${found}`, {
      advice: "Name a folder that you may write to.",
      cause,
    });
  }
}

/** Whether only a run makes a file or folder of this name. */
function isOfRun(name: string): boolean {
  return RUN_FILES.has(name) || RUN_FOLDERS.test(name) || TRANSCRIPT.test(name);
}

async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(path)) {
    if (!name.startsWith(LOCK_FILE)) names.push(name);
  }
  return names.sort();
}

/** @throws UsageError for files that must not be touched or mixed with those of a run */
function refuseOccupied(
  { path, resume, force }: RunFolderOptions,
  names: readonly string[],
): void {
  if (names.length === 0) return;
  const list = (some: readonly string[]) =>
    some.slice(0, 4).join(", ") + (some.length > 4 ? ", …" : "");
  const isRun = names.some(isOfRun);
  // Without run.json no run has completed here, so the files of a model are not those of a run.
  const foreign = names.includes("run.json") ? [] : names.filter((name) => MODEL_FILES.has(name));
  if (foreign.length > 0) {
    throw new UsageError(
      `${path}: output_dir holds files that this run would overwrite (${list(foreign)})`,
      { advice: "Name an empty or new output_dir." },
    );
  }
  if (force || (resume && isRun)) return;
  if (resume) {
    throw new UsageError(
      `${path}: there is no run to resume in output_dir, but other files (${list(names)})`,
      {
        advice:
          "Name the output_dir of the run. (In an empty or new folder --resume starts a run, " +
          "with --force also beside these files.)",
      },
    );
  }
  const what = isRun ? "another run" : "other files";
  throw new UsageError(`${path}: output_dir is not empty: it holds ${what} (${list(names)})`, {
    advice: isRun
      ? "Use --resume (in a program resume: true) to continue that run, another output_dir to " +
        "keep it, or --force (force: true) to replace it."
      : "Name an empty or new output_dir, or use --force (in a program force: true) to write " +
        "beside these files.",
  });
}

async function removeRun(path: string, names: readonly string[]): Promise<void> {
  const isRun = names.includes("run.json");
  for (const name of names) {
    const isMade = isOfRun(name) || (isRun && (MODEL_FILES.has(name) || COMPANIONS.has(name)));
    if (isMade) await Deno.remove(`${path}/${name}`, { recursive: true });
  }
}

/**
 * `metrics.jsonl`: one JSON object on each line, each step exactly once. Every checkpoint stores
 * the length of the file. On resume the file is cut back to that length, so that the steps which a
 * killed run wrote after its last checkpoint are not in it twice.
 */
export class MetricsLog {
  private constructor(readonly path: string, private length: number) {}

  /** @param most length to cut the file back to; only whole lines are kept */
  static async open(path: string, most = Infinity): Promise<MetricsLog> {
    try {
      const content = await Deno.readFile(path);
      // A length that is not the end of a line belongs to another file.
      const bytes = content.subarray(0, Math.min(most, content.length)).lastIndexOf(0x0a) + 1;
      if (bytes < content.length) await Deno.truncate(path, bytes);
      return new MetricsLog(path, bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return new MetricsLog(path, 0);
      throw explainFileError(error, "cut back the metrics", path);
    }
  }

  get bytes(): number {
    return this.length;
  }

  /**
   * Appends a record; NaN and infinities become null, since JSON cannot hold them.
   * @param options.sync wait until it is on the disk
   * @throws RgxError when the disk is full; the file then ends with the line before
   */
  async append(
    record: Readonly<Record<string, unknown>>,
    options: { sync?: boolean } = {},
  ): Promise<void> {
    this.length = await appendLine(this.path, JSON.stringify(record), options);
  }

  /** Waits until all records are on the disk. @throws RgxError when they cannot be written */
  async flush(): Promise<void> {
    if (this.length === 0) return;
    try {
      using file = await Deno.open(this.path, { write: true });
      await file.sync();
    } catch (error) {
      throw explainFileError(error, "write the metrics", this.path);
    }
  }
}

/** How long a folder that the first rank sees may be missing on this machine, in milliseconds. */
const APPEARS_WITHIN = 60_000, LOOK_EVERY = 200;

/** File servers may be slow. @throws RgxError when it does not appear */
export async function waitForFolder(path: string): Promise<void> {
  for (let waited = 0; !await exists(path); waited += LOOK_EVERY) {
    if (waited > APPEARS_WITHIN) {
      throw new RgxError(`${path}: rank 0 has it, this rank does not see it`, {
        advice: "All ranks need the run's folder on a file system that their machines share.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

export const completionsFile = (step: number) =>
  `completions/completions_${String(step).padStart(5, "0")}.parquet`;

export function encodeCompletions(
  step: number,
  rollout: Rollout,
  rewardNames: readonly string[],
): Uint8Array {
  const { rows, groups } = rollout;
  const column = (name: string, type: ColumnType, of: (row: RolloutRow) => unknown) => {
    return { name, type, data: rows.map(of) };
  };
  const dialogue = dialogueColumns(rows);
  const extras = new Set(rows.flatMap((row) => Object.keys(row.extras)));
  for (const { name } of dialogue) extras.delete(name);
  return new Uint8Array(parquetWriteBuffer({
    columnData: [
      column("step", "INT32", () => step),
      column("prompt", "STRING", (row) => promptOf(rollout, row).text),
      column("expected", "STRING", ({ group }) => groups[group]!.entry.answer),
      column("completion", "STRING", (row) => row.text),
      ...rewardNames.map((name, k) => column(name, "DOUBLE", (row) => row.rewards[k] ?? null)),
      column("advantage", "DOUBLE", (row) => row.advantage),
      column("entry", "STRING", ({ group }) => entryJson(groups[group]!.entry)),
      column("completion_ids", "JSON", (row) => [...idsOf(row)]),
      column("truncated", "BOOLEAN", (row) => row.truncated),
      ...dialogue,
      ...[...extras].map((name) => extraColumn(name, rows.map((row) => row.extras[name] ?? null))),
    ],
  }));
}

type ColumnType = "INT32" | "DOUBLE" | "STRING" | "JSON" | "BOOLEAN";

/** Of dialogues: their messages, the turns of the model, and why they ended. */
function dialogueColumns(rows: Rollout["rows"]) {
  const of = <T>(value: (dialogue: NonNullable<SampledRow["dialogue"]>) => T) =>
    rows.map(({ dialogue }) => dialogue === undefined ? null : value(dialogue));
  if (rows.every(({ dialogue }) => dialogue === undefined)) return [];
  return [
    { name: "dialogue", data: of(({ messages }) => messages), type: "JSON" as const },
    { name: "turns", data: of(({ about }) => about.turns), type: "INT32" as const },
    { name: "stop", data: of(({ about }) => about.stop), type: "STRING" as const },
  ];
}

/** A column of numbers or booleans if all cells are of that type, otherwise of text. */
function extraColumn(name: string, cells: readonly ExtraValue[]) {
  const types = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell));
  const [type] = types;
  if (types.size === 1 && type !== "string") {
    return {
      name,
      data: [...cells],
      type: type === "number" ? "DOUBLE" as const : "BOOLEAN" as const,
    };
  }
  const data = cells.map((cell) => cell === null ? null : String(cell));
  return { name, data, type: "STRING" as const };
}
