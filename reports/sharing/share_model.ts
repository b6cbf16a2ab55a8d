/** Uploads a model of a run, or of a checkpoint, with its card and chart to the Hub. */

import { exists } from "../../core/paths.ts";
import { checkRepositoryName } from "../../hub/repository.ts";
import { type HubSettings, hubSettings } from "../../hub/settings.ts";
import type { UploadFile } from "../../hub/upload/files.ts";
import {
  requireToken,
  upload,
  type Uploaded,
  type UploadEvent,
  wholeName,
} from "../../hub/upload/upload.ts";
import { chooseMetrics, curvesFigure } from "../charts/curves.ts";
import { readRunRecord, type RunRecord } from "../run_report/run_record.ts";
import { modelCardText } from "./model_card.ts";
import { filesToShare, findModel, type ModelToShare, wholeFolder } from "./model_files.ts";

/** Where a model is uploaded, and what its card says. */
export interface ShareOptions {
  /**
   * With a token; default: read from the environment.
   * @internal
   */
  settings?: HubSettings;
  /** `USER/NAME` of the repository, or `NAME`; it is made where it is missing. */
  repoId: string;
  /** Of a run's checkpoints the one to take. */
  step?: number | null;
  /** "full": everything that a resume needs goes along, in a folder of the checkpoint's name. */
  optimizerSaveMode?: "full" | null;
  /** Folder in the repository for the whole checkpoint; default `checkpoint-{step}`. */
  checkpointFolder?: string;
  /** Whether a new repository is private; null = the account's default. */
  private?: boolean | null;
  /** Branch of the repository; null = main. */
  revision?: string | null;
  /** Base model on the Hub, for the card. */
  modelName?: string | null;
  /** Licence, for the card. */
  license?: string | null;
  /** First line of the commit's message. */
  message?: string | null;
  /** Aborts the upload; the repository is then unchanged. */
  signal?: AbortSignal;
  /** As in HttpOptions. */
  attempts?: number;
  /** As in HttpOptions. */
  firstDelay?: number;
  /** Called with what is sent, and with the progress. */
  onEvent?: (event: UploadEvent) => void;
}

/** What would be uploaded. */
export interface SharePlan {
  found: ModelToShare;
  files: UploadFile[];
}

/**
 * Gathers the files, the card and the chart; nothing is sent.
 * @throws UsageError when there is no model, or when the name of the repository is forbidden
 */
export async function planShare(folder: string, options: ShareOptions): Promise<SharePlan> {
  checkRepositoryName(options.repoId);
  const found = await findModel(folder, options.step ?? null);
  const isFull = options.optimizerSaveMode === "full" && found.checkpoint !== null;
  const files = await filesToShare(found, false);
  const optimizer = options.checkpointFolder ?? `checkpoint-${found.step ?? 0}`;
  if (isFull) files.push(...await wholeFolder(found.checkpoint!, found.step, optimizer));
  const record = await recordOf(found), chart = record === null ? null : await chartOf(record);
  if (chart !== null) files.push({ path: "curves.png", source: chart });
  const card = modelCardText({
    name: options.repoId,
    record,
    step: found.step,
    base: options.modelName ?? null,
    license: options.license ?? null,
    isAdapter: await exists(`${found.model}/adapter_config.json`),
    hasChart: chart !== null,
    optimizer: isFull ? optimizer : null,
  });
  // A model that no run is known of keeps its own card.
  const own = `${found.model}/README.md`;
  const isKept = record === null && found.checkpoint === null && await exists(own);
  files.push({
    path: "README.md",
    source: isKept ? own : new TextEncoder().encode(card),
  });
  for (const file of files) refuseToken(file, options.settings?.token ?? null);
  return { found, files };
}

/**
 * Uploads a run, a checkpoint or a model folder to the Hugging Face Hub, with a model card.
 * @throws UsageError for a missing token, a forbidden name, a folder without a model; RgxError that
 *   says what the server refused. The folder is only read.
 */
export async function shareModel(folder: string, options: ShareOptions): Promise<Uploaded> {
  const { settings = await hubSettings(), signal, attempts, firstDelay, onEvent } = options;
  // What is wrong with the command comes first: a token does not mend it.
  checkRepositoryName(options.repoId);
  await findModel(folder, options.step ?? null);
  requireToken(settings);
  const connection = {
    ...(signal === undefined ? {} : { signal }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(firstDelay === undefined ? {} : { firstDelay }),
  };
  const repoId = await wholeName(options.repoId, settings, connection);
  const { found, files } = await planShare(folder, { ...options, settings, repoId });
  return await upload(repoId, files, {
    ...connection,
    settings,
    private: options.private ?? null,
    revision: options.revision ?? null,
    summary: options.message ?? `Upload${found.step === null ? "" : ` of step ${found.step}`}`,
    ...(onEvent === undefined ? {} : { onEvent }),
  });
}

/** A text that is made here must never hold the token, whatever a configuration says. */
function refuseToken(file: UploadFile, token: string | null): void {
  if (token === null || typeof file.source === "string") return;
  const content = new TextDecoder().decode(file.source);
  if (!content.includes(token)) return;
  file.source = new TextEncoder().encode(content.replaceAll(token, "***"));
}

/** The record of the run; a damaged one does not keep a model from being shared. */
async function recordOf({ run }: ModelToShare): Promise<RunRecord | null> {
  return run === null ? null : await readRunRecord(run).catch(() => null);
}

async function chartOf(record: RunRecord): Promise<Uint8Array<ArrayBuffer> | null> {
  if (record.metrics.series.size === 0) return null;
  const { renderPng } = await import("../charts/render.ts");
  const figure = curvesFigure(
    [record.metrics],
    chooseMetrics([record.metrics], undefined),
    "Curves",
  );
  return new Uint8Array(await renderPng(figure));
}

/** What to type to upload a model later. */
export function uploadCommand(folder: string, { repoId, optimizerSaveMode }: {
  repoId: string;
  optimizerSaveMode?: "full" | null;
}): string {
  const mode = optimizerSaveMode === "full" ? "" : " --optimizer-save-mode none";
  return `rgx upload ${folder} --repo-id ${repoId}${mode}`;
}
