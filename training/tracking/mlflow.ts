/**
 * Writes a run into MLflow's file store: `{store}/{experiment}/{run}/` with `meta.yaml`, a file for
 * each metric (lines `milliseconds value step`), each parameter and each tag. The store is the
 * folder of MLFLOW_TRACKING_URI, else `{output_dir}/mlruns`. Nothing is sent to a server. Checked
 * against files that MLflow 3.17 has written. Not supported: artifacts, models, traces.
 */
import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";

type Env = Readonly<Record<string, string>>;

const STATUS = { running: 1, finished: 3, killed: 5 };
/** Longest value of a parameter, and longest text of a tag, that MLflow takes. */
const MAX_PARAM = 6000, MAX_TAG = 8000;
const NOTE = "mlflow.note.content";

export class MlflowTracker implements Tracker {
  readonly name = "mlflow";
  readonly place: string;
  readonly #meta: Record<string, unknown>;
  #alerts: string[] = [];
  #open = true;

  /** @throws Error for an address of a server; Deno.errors.* when files cannot be created */
  constructor(run: TrackedRun, env: Env) {
    const store = storeFolder(env.MLFLOW_TRACKING_URI, run.outputDir);
    const experiment = openExperiment(store, env.MLFLOW_EXPERIMENT_NAME || run.project, run.start);
    const folder = this.place = `${store}/${experiment}/${run.id}`;
    for (const name of ["metrics", "params", "tags", "artifacts"]) {
      Deno.mkdirSync(`${folder}/${name}`, { recursive: true });
    }
    cutBack(`${folder}/metrics`, run.resumedFrom);
    const user = env.USER || env.LOGNAME || "unknown";
    this.#meta = {
      artifact_uri: `file://${folder}/artifacts`,
      end_time: null,
      entry_point_name: "",
      experiment_id: experiment,
      lifecycle_stage: "active",
      run_id: run.id,
      run_name: run.name,
      source_name: "rgx",
      source_type: 4, // a program on this machine
      source_version: "",
      start_time: startOf(folder) ?? run.start.getTime(),
      status: STATUS.running,
      tags: [],
      user_id: user,
    };
    this.#writeMeta();
    for (const [name, value] of flat(run.config)) {
      write(`${folder}/params/${keyOf(name)}`, value.slice(0, MAX_PARAM));
    }
    const tags = { "mlflow.runName": run.name, "mlflow.user": user, "rgx.host": run.host };
    for (const [name, value] of Object.entries(tags)) write(`${folder}/tags/${name}`, value);
  }

  log({ step, time, metrics }: TrackedPoint): void {
    for (const [name, value] of Object.entries(metrics)) {
      append(`${this.place}/metrics`, keyOf(name), `${time.getTime()} ${value} ${step}\n`);
    }
  }

  /** MLflow has no alerts: they are the description of the run. */
  alert({ step, title, text }: TrackedAlert): void {
    this.#alerts.push(`- step ${step}, ${title}: ${text}`);
    write(`${this.place}/tags/${NOTE}`, this.#alerts.join("\n").slice(0, MAX_TAG));
  }

  close(completed: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    this.#meta["status"] = completed ? STATUS.finished : STATUS.killed;
    this.#meta["end_time"] = Date.now();
    this.#writeMeta();
  }

  /** Renamed into its place, since MLflow may be reading. */
  #writeMeta(): void {
    const path = `${this.place}/meta.yaml`;
    write(`${path}.tmp`, stringify(this.#meta));
    Deno.renameSync(`${path}.tmp`, path);
  }
}

/** @throws Error for an address of a server or a database, which is not a folder */
function storeFolder(uri: string | undefined, outputDir: string): string {
  if (!uri) return resolve(outputDir, "mlruns");
  if (uri.startsWith("file:")) {
    const folder = uri.startsWith("file://") ? fileURLToPath(uri) : resolve(uri.slice(5));
    return folder.replace(/(?<=.)\/+$/, "");
  }
  if (!/^[a-z][\w+.-]*:/i.test(uri)) return resolve(uri);
  throw new Error(
    `MLFLOW_TRACKING_URI=${
      uri.replace(/\/\/[^/@]*@/, "//")
    } is not a folder: rgx writes MLflow's ` +
      "file store alone, as file:///path or a path",
  );
}

/** The experiment of this name. Its number follows from the name, so that runs beside agree. */
function openExperiment(store: string, name: string, start: Date): string {
  Deno.mkdirSync(store, { recursive: true });
  for (const { name: id, isDirectory } of Deno.readDirSync(store)) {
    if (!isDirectory) continue;
    const text = readIfThere(`${store}/${id}/meta.yaml`) ?? "";
    const [, found] = /^name: (.*)$/m.exec(text) ?? [];
    if (found === stringify(name).trimEnd() && /^lifecycle_stage: active$/m.test(text)) return id;
  }
  const hash = createHash("sha256").update(name).digest();
  const id = String(hash.readBigUInt64BE() % 10n ** 18n).padStart(18, "1");
  Deno.mkdirSync(`${store}/${id}`, { recursive: true });
  write(
    `${store}/${id}/meta.yaml`,
    stringify({
      artifact_location: `file://${store}/${id}`,
      creation_time: start.getTime(),
      experiment_id: id,
      last_update_time: start.getTime(),
      lifecycle_stage: "active",
      name,
    }),
  );
  return id;
}

/** Removes what an earlier session has written of later steps. */
function cutBack(folder: string, step: number): void {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) {
      cutBack(path, step);
      continue;
    }
    const lines = Deno.readTextFileSync(path).split("\n");
    const kept = lines.filter((line) => line !== "" && Number(line.split(" ")[2]) <= step);
    // MLflow refuses a metric without a line.
    if (kept.length === 0) Deno.removeSync(path);
    else write(path, kept.join("\n") + "\n");
  }
}

function startOf(folder: string): number | null {
  const [, start] = /^start_time: (\d+)$/m.exec(readIfThere(`${folder}/meta.yaml`) ?? "") ?? [];
  return start === undefined ? null : Number(start);
}

/** The configuration as dotted names with values. Lists are JSON. */
function* flat(value: Readonly<Record<string, unknown>>, before = ""): Generator<[string, string]> {
  for (const [name, inner] of Object.entries(value)) {
    const key = `${before}${name}`;
    if (typeof inner === "object" && inner !== null && !Array.isArray(inner)) {
      yield* flat(inner as Record<string, unknown>, `${key}.`);
    } else yield [key, typeof inner === "string" ? inner : JSON.stringify(inner)];
  }
}

/** Only characters that MLflow takes in names; no part of a path leads out of the folder. */
function keyOf(name: string): string {
  return name.replace(/[^\w./ -]/g, "_").split("/").filter((part) => part !== "")
    .map((part) => /^\.+$/.test(part) ? "_" : part).join("/") || "_";
}

/** Appends to the file of a metric. A name that is a folder, or below a file, is flattened. */
function append(folder: string, key: string, line: string): void {
  const to = (path: string) => {
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, line, { append: true });
  };
  try {
    to(`${folder}/${key}`);
  } catch (error) {
    const clashes = error instanceof Deno.errors.NotADirectory ||
      error instanceof Deno.errors.IsADirectory || error instanceof Deno.errors.AlreadyExists;
    if (!clashes) throw error;
    to(`${folder}/${key.replaceAll("/", ".")}${key.includes("/") ? "" : ".value"}`);
  }
}

function write(path: string, text: string): void {
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeTextFileSync(path, text);
}

function readIfThere(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
