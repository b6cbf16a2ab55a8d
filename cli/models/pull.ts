/** `rgx pull`: a model or data set from the Hub into the cache. */
import { bytesText } from "../../core/bytes.ts";
import { Interrupted, UsageError } from "../../core/errors.ts";
import { pull } from "../../hub/pull.ts";
import type { Pulled } from "../../hub/pulled.ts";
import { isRevision, requireNamed } from "../../hub/repository.ts";
import { hubSettings } from "../../hub/settings.ts";
import { abortable } from "../terminal/abortable.ts";
import { PullProgress, timeText } from "./pull_progress.ts";
import { log, print, table } from "../terminal/terminal.ts";

interface PullFlags {
  dataset?: boolean;
  revision?: string;
  include: string[];
  exclude: string[];
  maxWorkers: number;
  verify?: boolean;
  dryRun?: boolean;
  json?: boolean;
  quiet?: boolean;
}

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
    new Interrupted(`${signal}: stopped; what is downloaded is kept`, {
      advice: "The same command goes on from there.",
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
        onEvent: (event) => progress.on(event),
      }), stopped);
  } finally {
    progress.close();
  }
  report(pulled, flags);
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
      : `${bytesText(downloaded_bytes)} downloaded in ${timeText(seconds)}`;
    log(`${files.length} ${files.length === 1 ? "file" : "files"}, ${bytesText(bytes)}: ${took}`);
  }
  print(path);
}
