/** Uploads a model of a run, or of a checkpoint, with its card and chart to the Hub. */
import { exists, folderOf } from "../../core/paths.ts";
import { checkRepositoryName, isRepositoryName } from "../../hub/repository.ts";
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
import {
  type Json,
  objectIn,
  readRunRecord,
  type RunRecord,
  taskNames,
  textOf,
} from "../run_report/run_record.ts";
import { stringify } from "yaml";
import { VERSION } from "../../core/version.ts";
import { nameAndRevision } from "../../hub/find_model.ts";
import { fenced, markdownTable } from "../run_report/markdown.ts";
import { reportSections } from "../run_report/sections.ts";
import { UsageError } from "../../core/errors.ts";
import { modelInVerlFolder } from "../../hub/verl_folder.ts";
import {
  checkpointDamage,
  findNewestValid,
  listCheckpoints,
} from "../../training/checkpoint/checkpoint_folders.ts";

/** The repository of an upload, and the contents of the card. */
export interface ShareOptions {
  /**
   * With a token; default: read from the environment.
   * @internal
   */
  settings?: HubSettings;
  /** `USER/NAME` of the repository, or `NAME`; it is made where it is missing. */
  repoId: string;
  /** The step of the checkpoint, if a run is uploaded. */
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
  const files = await modelFiles(found);
  const optimizer = options.checkpointFolder ?? `checkpoint-${found.step ?? 0}`;
  if (isFull) files.push(...await wholeFolder(found.checkpoint!, optimizer));
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
  // Mistakes in the command are reported before a missing token.
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

/** The card must never hold the token, whatever the configuration contains. */
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

/** The command that uploads a model later. */
export function uploadCommand(folder: string, { repoId, optimizerSaveMode }: {
  repoId: string;
  optimizerSaveMode?: "full" | null;
}): string {
  const mode = optimizerSaveMode === "full" ? "" : " --optimizer-save-mode none";
  return `rgx upload ${folder} --repo-id ${repoId}${mode}`;
}

// The card of an uploaded model: base, data, results with intervals, a chart, the configuration and
// the licence. It holds no path of this machine, except those that the configuration names, and no
// token.

interface CardOptions {
  /** Title, usually the repository's name. */
  name: string;
  /** null: no run is known, so the card only describes the files. */
  record: RunRecord | null;
  step: number | null;
  /** Base model on the Hub; null: the one of the configuration, if it is on the Hub. */
  base: string | null;
  /** Identifier of the licence; null: that of the base applies. */
  license: string | null;
  isAdapter: boolean;
  hasChart: boolean;
  /** Folder with the state of the optimizer in the repository; null: there is none. */
  optimizer: string | null;
}

function modelCardText(options: CardOptions): string {
  const { name, record, step, license, isAdapter, hasChart, optimizer } = options;
  const config = record?.config ?? {}, base = options.base ?? hubName(objectIn(config["model"]));
  const data = objectIn(config["data"]), dataset = textOf(data["dataset_name"]);
  const task = taskNames(data), sections = record === null ? null : reportSections(record);
  const head = {
    ...(base === null ? {} : { base_model: base }),
    ...(license === null ? {} : { license }),
    ...(dataset !== null && isRepositoryName(dataset) && dataset.includes("/")
      ? { datasets: [dataset] }
      : {}),
    library_name: isAdapter ? "peft" : "transformers",
    pipeline_tag: "text-generation",
    tags: ["grpo", "reasoning", "rgx"],
  };
  const parts = [
    `---\n${stringify(head, { lineWidth: 0 })}---`,
    `# ${name}`,
    `${isAdapter ? "A LoRA adapter" : "A model"}${
      base === null ? "" : ` of [${base}](https://huggingface.co/${base})`
    }${task === null ? "" : `, trained on ${task}`} with GRPO by rgx ${VERSION}${
      step === null ? "" : ` (step ${step})`
    }.`,
  ];
  if (sections !== null) {
    parts.push("## Results", sections.verdict);
    if (sections.evaluation !== null) {
      parts.push(markdownTable(sections.evaluation), "Intervals are 95 % intervals.");
    }
    if (hasChart) parts.push("![Curves of the training](curves.png)");
  }
  parts.push("## Use", fenced(usage(name, base, isAdapter), "python"));
  if (record !== null) {
    parts.push(
      "## Training",
      `<details><summary>Configuration</summary>\n\n${
        fenced(withoutFolders(record.configText).trimEnd(), "yaml")
      }\n\n</details>`,
    );
  }
  if (optimizer !== null) {
    parts.push(
      "## Going on with the training",
      `\`${optimizer}/\` holds the state of the optimizer and all else that an exact resume ` +
        `needs: \`rgx train CONFIG --resume=${optimizer}\`.`,
    );
  }
  parts.push(
    "## Licence",
    license !== null
      ? `${license}. The licence of the base model applies to its weights too.`
      : base === null
      ? "No licence was named."
      : `The licence of [${base}](https://huggingface.co/${base}) applies.`,
  );
  return parts.join("\n\n") + "\n";
}

function usage(name: string, base: string | null, isAdapter: boolean): string {
  const isPeft = isAdapter && base !== null;
  return [
    ...isPeft ? ["from peft import PeftModel"] : [],
    "from transformers import AutoModelForCausalLM, AutoTokenizer",
    "",
    `model = AutoModelForCausalLM.from_pretrained("${isPeft ? base : name}")`,
    ...isPeft ? [`model = PeftModel.from_pretrained(model, "${name}")`] : [],
    `tokenizer = AutoTokenizer.from_pretrained("${name}")`,
  ].join("\n");
}

/** The model's name if it can be one of the Hub, and is no path. */
function hubName(model: Json): string | null {
  const name = textOf(model["model_name_or_path"]);
  if (name === null || isHere(name)) return null;
  const repository = nameAndRevision(name).name;
  return isRepositoryName(repository) ? repository : null;
}

function isHere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The configuration without the path of the run's folder, which is private. */
function withoutFolders(config: string): string {
  return config.replace(/^( *output_dir: ).*\/([^/\n]+)$/m, "$1./$2");
}

// The files of a checkpoint or a run that are uploaded: the model and its tokenizer at the top of
// the repository, and on request everything that a resume needs in `checkpoint-{step}/`.

/** The files of an upload, and their origin. */
interface ModelToShare {
  /** Folder with the weights. */
  model: string;
  /** The run of the model; null: unknown. */
  run: string | null;
  /** The checkpoint with the state of the optimizer; null: there is none. */
  checkpoint: string | null;
  step: number | null;
}

const WEIGHTS = /^(adapter_)?model(-\d{5}-of-\d{5})?\.safetensors$/;
const MODEL_FILES = new RegExp(
  [
    WEIGHTS.source,
    String.raw`^model\.safetensors\.index\.json$`,
    String
      .raw`^(adapter_config|config|generation_config|special_tokens_map|added_tokens|vocab)\.json$`,
    String.raw`^tokenizer(_config)?\.(json|model)$`,
    String.raw`^merges\.txt$`,
    String.raw`^chat_template\.jinja$`,
  ].join("|"),
);

/**
 * Finds the model in the folder of a run or of a checkpoint.
 * @param step the checkpoint to take; null: the final model, or the newest checkpoint
 * @throws UsageError when there is no model, or a damaged one
 */
export async function findModel(folder: string, step: number | null): Promise<ModelToShare> {
  const path = folder.replace(/(?<=.)\/+$/, "");
  const names = await namesIn(path);
  const isRun = names.includes("metrics.jsonl") || names.includes("run.json");
  if (!isRun) return await findInCheckpoint(path, names, step);
  const checkpoints = await listCheckpoints(path);
  if (step !== null) {
    const found = checkpoints.find((checkpoint) => checkpoint.step === step);
    if (found === undefined) {
      const steps = checkpoints.map((one) => one.step).join(", ");
      throw new UsageError(`${path}: there is no checkpoint-${step}`, {
        advice: steps === "" ? "This run has no checkpoint yet." : `Its checkpoints: ${steps}.`,
      });
    }
    return { ...await findInCheckpoint(found.path, await namesIn(found.path), step), run: path };
  }
  const { newest } = await findNewestValid(path);
  if (names.some((name) => WEIGHTS.test(name))) {
    return { model: path, run: path, checkpoint: newest?.path ?? null, step: newest?.step ?? null };
  }
  if (newest === null) {
    throw new UsageError(`${path}: this run has neither a final model nor a whole checkpoint`, {
      advice: "Upload when it has saved one (training.save_steps), or resume it: --resume.",
    });
  }
  return { model: newest.path, run: path, checkpoint: newest.path, step: newest.step };
}

async function findInCheckpoint(
  path: string,
  names: readonly string[],
  step: number | null,
): Promise<ModelToShare> {
  if (!names.some((name) => WEIGHTS.test(name))) {
    const inside = await modelInVerlFolder(path);
    if (inside !== null) return await findInCheckpoint(inside, await namesIn(inside), step);
    const isSharded = names.some((name) => /^model_world_size_\d+_rank_\d+\.pt$/.test(name));
    throw new UsageError(
      isSharded
        ? `${path}: the weights are in parts of several processes (FSDP)`
        : `${path}: no model in this folder (model.safetensors or adapter_model.safetensors)`,
      {
        advice: isSharded
          ? `rgx convert ${path} --output NEW joins them; upload NEW.`
          : "Name the folder of a run or of a checkpoint.",
      },
    );
  }
  const isOurs = names.includes("SHA256SUMS"),
    damage = isOurs ? await checkpointDamage(path) : null;
  if (damage !== null) {
    throw new UsageError(`${path}: this checkpoint is damaged: ${damage}`, {
      advice: "Upload another one: --step N.",
    });
  }
  // "latest" is a link to the checkpoint.
  const real = await Deno.realPath(path).catch(() => path);
  const number = /checkpoint-(\d+)$|global_step_(\d+)/.exec(real);
  const parent = folderOf(real);
  return {
    model: path,
    run: await exists(`${parent}/metrics.jsonl`) ? parent : null,
    checkpoint: isOurs ? path : null,
    step: step ?? (number === null ? null : Number(number[1] ?? number[2])),
  };
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name);
  } catch {
    throw new UsageError(`${path}: there is no such folder`, {
      advice: "Name the folder of a run or of a checkpoint.",
    });
  }
}

/** The model's files, without a card. */
async function modelFiles({ model }: ModelToShare): Promise<UploadFile[]> {
  return (await namesIn(model)).filter((name) => MODEL_FILES.test(name)).sort()
    .map((name) => ({ path: name, source: `${model}/${name}` }));
}

/** All files of a checkpoint, below a folder. */
async function wholeFolder(checkpoint: string, folder: string): Promise<UploadFile[]> {
  return (await namesIn(checkpoint)).filter((name) => !name.startsWith(".")).sort()
    .map((name) => ({ path: `${folder}/${name}`, source: `${checkpoint}/${name}` }));
}
