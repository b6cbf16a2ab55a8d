/** `rgx upload`: a trained model, with its card, to a repository of the Hub. */
import { bytesText } from "../../core/bytes.ts";
import { Interrupted, UsageError } from "../../core/errors.ts";
import { hubSettings } from "../../hub/settings.ts";
import type { UploadEvent } from "../../hub/upload/upload.ts";
import { planShare, shareModel, type ShareOptions } from "../../reports/sharing/share_model.ts";
import { abortable } from "../signals.ts";
import { log, print } from "../terminal/terminal.ts";
import { type FlagsOf, pick } from "../flags.ts";

export type UploadFlags = FlagsOf<"UPLOAD">;

export async function uploadModel(named: string | undefined, flags: UploadFlags): Promise<void> {
  const folder = named ?? flags.checkpointDir;
  if (folder === undefined || named !== undefined && flags.checkpointDir !== undefined) {
    throw new UsageError(
      folder === undefined ? "no checkpoint was named" : "two checkpoints were named",
      { advice: "rgx upload CHECKPOINT --repo-id USER/NAME" },
    );
  }
  const options: ShareOptions = {
    settings: await hubSettings(),
    ...pick(flags, "repoId", "step", "checkpointFolder", "private", "revision", "modelName"),
    ...pick(flags, "license"),
    optimizerSaveMode: flags.optimizerSaveMode === "full" ? "full" : null,
    message: flags.commitMessage ?? null,
    onEvent: flags.quiet ? () => {} : uploadProgress(),
  };
  if (flags.dryRun) return await showPlan(folder, options, flags.json ?? false);
  const stopped = (signal: string) =>
    new Interrupted(`${signal}: stopped; nothing in the repository has changed`, {
      advice: "The same command continues: the server keeps the files that were sent.",
    });
  const done = await abortable((signal) => shareModel(folder, { ...options, signal }), stopped);
  if (flags.json) return print(JSON.stringify(done));
  if (!flags.quiet) {
    log(
      done.commit === null
        ? `${done.files} files, all of them were there already`
        : `${done.files - done.unchanged} files in commit ${done.commit.slice(0, 12)}`,
    );
  }
  print(done.url);
}

async function showPlan(folder: string, options: ShareOptions, json: boolean): Promise<void> {
  const { found, files } = await planShare(folder, options);
  const sizes = await Promise.all(
    files.map(async ({ source }) =>
      typeof source === "string" ? (await Deno.stat(source)).size : source.length
    ),
  );
  if (json) {
    const list = files.map(({ path }, i) => ({ path, size: sizes[i] }));
    return print(JSON.stringify({ ...found, repository: options.repoId, files: list }));
  }
  for (const [i, { path }] of files.entries()) print(`${path}  ${bytesText(sizes[i]!)}`);
  log("dry run: nothing was sent");
}

/** Lines on stderr: the file that is sent, the progress, and failures that are tried again. */
export function uploadProgress(): (event: UploadEvent) => void {
  let last = performance.now();
  return (event) => {
    if (event.type === "notice") log(`note: ${event.message}`);
    if (event.type === "plan" && event.files > 0) {
      log(`uploading ${event.files} files, ${bytesText(event.bytes)} of them large ones`);
    }
    if (event.type === "progress" && performance.now() - last > PROGRESS_MS) {
      last = performance.now();
      log(`${bytesText(event.sent)} of ${bytesText(event.bytes)} sent`);
    }
  };
}

const PROGRESS_MS = 5000;
