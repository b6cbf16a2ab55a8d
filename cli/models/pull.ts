/** `rgx pull`: a model or data set from the Hub into the cache. */
import { bytesText } from "../../core/bytes.ts";
import { duration } from "../../core/duration.ts";
import { Interrupted, RgxError, UsageError } from "../../core/errors.ts";
import { type MemoryRoom, memoryRoom } from "../../core/machine/memory.ts";
import { pull, type Pulled, type PullEvent } from "../../hub/pull.ts";
import { isRevision, requireNamed } from "../../hub/repository.ts";
import { hubSettings } from "../../hub/settings.ts";
import { MissingKey } from "../../models/architectures/config_fields.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { abortable } from "../signals.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import { isInteractive, labelled, log, print, table } from "../terminal/terminal.ts";
import type { FlagsOf } from "../flags.ts";

type PullFlags = FlagsOf<"PULL">;

export async function pullRepository(
  name: string,
  files: readonly string[],
  flags: PullFlags,
): Promise<void> {
  const { repository, revision: inName, path } = requireNamed(
    name,
    flags.dataset ? "dataset" : "model",
  );
  const revision = flags.revision ?? inName;
  if (flags.revision !== undefined && inName !== null && flags.revision !== inName) {
    throw new UsageError(`${name}: two revisions are named: ${inName} and ${flags.revision}`);
  }
  if (revision !== null && !isRevision(revision)) {
    throw new UsageError(`--revision ${revision}: not the name of a branch, tag or commit`);
  }
  const settings = await hubSettings(), quiet = flags.quiet ?? false;
  const progress = new PullProgress(quiet, settings.progress);
  const stopped = (signal: string) =>
    new Interrupted(`${signal}: stopped; the downloaded part is kept`, {
      advice: "The same command continues from there.",
    });
  let pulled: Pulled;
  try {
    pulled = await abortable((signal) =>
      pull(repository, {
        revision,
        settings,
        signal,
        selection: {
          files: path === null ? files : [path, ...files],
          include: flags.include,
          exclude: flags.exclude,
        },
        maxWorkers: flags.maxWorkers,
        verify: flags.verify ?? false,
        dryRun: flags.dryRun ?? false,
        ...(repository.kind === "model"
          ? {
            accept: (config, bytes) =>
              acceptModel(repository.name, config, bytes, (message) => progress.notice(message)),
          }
          : {}),
        onEvent: (event) => progress.on(event),
      }), stopped);
  } finally {
    progress.close();
  }
  report(pulled, flags);
}

/**
 * Refuses a model that rgx cannot compute, and says when its weights need more memory than there is
 * (they may be for another machine, such as a node of a cluster).
 */
export function acceptModel(
  name: string,
  config: Readonly<Record<string, unknown>>,
  bytes: number,
  notice: (message: string) => void,
  room: MemoryRoom = memoryRoom(),
): void {
  try {
    readHfConfig(config, `${name}: config.json`);
  } catch (error) {
    // A file without sizes is not a whole configuration; what opens the model says what is missing.
    if (error instanceof MissingKey) return;
    if (!(error instanceof RgxError)) throw error;
    throw new UsageError(`${error.message}; no weights were downloaded`, {
      advice: `${error.advice === undefined ? "" : `${error.advice} `}docs/models.md lists the ` +
        "families. For another program, name the files: " +
        `rgx pull ${name} --include '*.safetensors' --include '*.json'`,
      cause: error,
    });
  }
  if (bytes <= room.bytes) return;
  notice(
    `the weights have ${bytesText(bytes)}, and this machine has ${bytesText(room.bytes)} free: ` +
      "the model does not fit here. rgx train … --dry-run plans it for a card or a cluster.",
  );
}

function report(pulled: Pulled, { json, dryRun, quiet }: PullFlags): void {
  const { files, bytes, downloaded_bytes, seconds, offline, path } = pulled;
  if (json) return print(JSON.stringify({ ...pulled, dry_run: dryRun ?? false }, null, 2));
  if (dryRun) {
    const rows = files.map(({ name, size, cached }) => [
      name,
      size === null ? "size not known" : bytesText(size),
      cached ? "cached" : "to download",
    ]);
    return print(table(rows));
  }
  if (!quiet) {
    const took = downloaded_bytes === 0
      ? offline ? "offline: all in the cache" : "all in the cache already"
      : `${bytesText(downloaded_bytes)} downloaded in ${duration(Math.ceil(seconds))}`;
    log(`${files.length} ${files.length === 1 ? "file" : "files"}, ${bytesText(bytes)}: ${took}`);
  }
  print(path);
}

const PLAIN_MS = 30_000, REDRAW_MS = 200;
/** The speed is measured over the last milliseconds, so many. */
const WINDOW_MS = 8_000;

class PullProgress {
  readonly #samples: { at: number; present: number }[] = [];
  #files = { done: 0, all: 0 };
  readonly #line: RedrawnLines;

  /** @param bar whether a line may be redrawn if stderr is a terminal */
  constructor(private readonly quiet: boolean, bar: boolean) {
    this.#line = new RedrawnLines(PLAIN_MS, REDRAW_MS, bar && isInteractive());
  }

  on(event: PullEvent): void {
    if (event.type === "notice") return this.notice(event.message);
    if (event.type === "file") return void (this.#files.done = event.done);
    const now = performance.now();
    this.#samples.push({ at: now, present: event.present });
    if (event.type === "plan") {
      this.#files = { done: event.cached, all: event.files };
      if (event.cached < event.files && !this.quiet) log(planText(event));
      return;
    }
    while (this.#samples.length > 2 && now - this.#samples[0]!.at > WINDOW_MS) {
      this.#samples.shift();
    }
    if (!this.quiet) this.#line.show(() => [progressText(event, this.#files, this.#speed())]);
  }

  close(): void {
    this.#line.clear();
  }

  #speed(): number {
    const first = this.#samples[0]!, last = this.#samples.at(-1)!;
    const ms = last.at - first.at;
    // In the first moments connections are made, so the speed is not known.
    return ms < 1000 ? 0 : Math.max(0, last.present - first.present) / ms * 1000;
  }

  notice(message: string): void {
    this.close();
    log(labelled("yellow", "note:", message));
  }
}

function planText({ files, cached, bytes, present }: PullEvent & { type: "plan" }): string {
  const known = cached > 0 ? `, ${cached} of them in the cache` : "";
  const kept = present > 0 ? `; ${bytesText(present)} are there already` : "";
  return `${files} ${files === 1 ? "file" : "files"}, ${bytesText(bytes)}${known}${kept}`;
}

/** "1.20 of 4.56 GB", the share, the speed, the remaining time: at most 79 columns. */
export function progressText(
  { present, bytes }: { present: number; bytes: number },
  files: { done: number; all: number },
  speed: number,
): string {
  const share = bytes === 0 ? 100 : Math.min(100, Math.floor(present / bytes * 100));
  const parts = [
    `${files.done}/${files.all} files`,
    `${bytesText(present)} of ${bytesText(bytes)}`,
    `${share} %`,
  ];
  if (speed > 0) {
    const left = Math.max(0, bytes - present) / speed;
    parts.push(`${bytesText(Math.round(speed))}/s`, `${duration(Math.ceil(left))} left`);
  }
  return parts.join("  ");
}
