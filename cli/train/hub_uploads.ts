/**
 * Uploads of a run to the Hub: of checkpoints while it trains, and of the model when it is
 * complete. A checkpoint is uploaded by a process of its own, since the training leaves this one no
 * time. A failed upload never fails the run: a warning says the command that uploads later.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { messageOf, RgxError } from "../../core/errors.ts";
import { programCommand } from "../../core/program_command.ts";
import { type HubSettings, hubSettings } from "../../hub/settings.ts";
import { requireToken, type UploadEvent } from "../../hub/upload/upload.ts";
import { shareModel, uploadCommand } from "../../reports/sharing/share_model.ts";
import { WARM_START } from "../../training/checkpoint/checkpoint_folders.ts";
import type { TrainEvent, TrainSummary } from "../../training/run/events.ts";

/** What is uploaded, from either way to ask for it. */
interface Asked {
  repoId: string;
  optimizerSaveMode: "full" | null;
  private: boolean | null;
  revision: string | null;
  license: string | null;
  /** Of the checkpoints while it trains; "end": none. */
  strategy: RunConfig["training"]["hub_strategy"];
}

/** What the configuration asks to upload; null: nothing. */
function askedOf({ hf_upload: section, training }: RunConfig): Asked | null {
  if (section !== null) {
    const { repo_id, optimizer_save_mode: optimizerSaveMode, ...rest } = section;
    return { ...rest, optimizerSaveMode, repoId: repo_id!, strategy: "end" };
  }
  if (!training.push_to_hub) return null;
  const folder = training.output_dir.replace(/\/+$/, "").split("/").at(-1)!;
  return {
    repoId: training.hub_model_id ?? folder,
    optimizerSaveMode: null,
    private: training.hub_private_repo,
    revision: training.hub_revision,
    license: null,
    strategy: training.hub_strategy,
  };
}

export interface HubUploads {
  /** Uploads a checkpoint that was saved, unless the upload before still goes on. */
  on(event: TrainEvent): void;
  /** Uploads the model of a complete run; otherwise waits for what goes on. */
  finish(summary: TrainSummary): Promise<void>;
  /** Ends an upload that goes on, after a failure of the run. */
  close(): void;
}

/** How uploads are shown. */
export interface Shown {
  /** What went well. */
  tell(text: string): void;
  /** What the user has to do. */
  warn(text: string): void;
  progress(event: UploadEvent): void;
}

/**
 * The uploads of a run; null when the configuration asks for none.
 * @throws UsageError when there is no token. Where connections are forbidden, as on the nodes of a
 *   cluster, it is said how to upload later
 */
export async function hubUploads(
  config: RunConfig,
  shown: Shown,
): Promise<HubUploads | null> {
  const asked = askedOf(config), folder = config.training.output_dir;
  if (asked === null) return null;
  const found = await hubSettings();
  const settings = { ...found, token: config.training.hub_token ?? found.token };
  if (settings.offline !== null) {
    const command = uploadCommand(folder, asked);
    return {
      on() {},
      finish({ status }) {
        const when = status === "completed" ? "On" : "When the run is complete, on";
        shown.warn(
          `${settings.offline} forbids uploads. ${when} a machine with a network: ${command}`,
        );
        return Promise.resolve();
      },
      close() {},
    };
  }
  requireToken(settings);
  return new Uploads(asked, folder, settings, shown);
}

class Uploads implements HubUploads {
  #running: { child: Deno.ChildProcess; done: Promise<void> } | null = null;

  constructor(
    private readonly asked: Asked,
    private readonly folder: string,
    private readonly settings: HubSettings,
    private readonly shown: Shown,
  ) {}

  on(event: TrainEvent): void {
    const { strategy } = this.asked;
    if (event.type !== "checkpoint" || strategy === "end" || this.#running !== null) return;
    if (event.path.includes(`/${WARM_START}/`)) return;
    this.#running = this.#start(event.path, event.step);
  }

  #start(path: string, step: number): { child: Deno.ChildProcess; done: Promise<void> } {
    const { repoId, revision, strategy } = this.asked, [program, ...first] = programCommand();
    const isWhole = strategy !== "every_save";
    const args = [
      ...first,
      "upload",
      path,
      "--repo-id",
      repoId,
      "--quiet",
      "--optimizer-save-mode",
      isWhole ? "full" : "none",
      ...(strategy === "checkpoint" ? ["--checkpoint-folder", "last-checkpoint"] : []),
      "--commit-message",
      `Training in progress, step ${step}`,
      ...(this.asked.private === true ? ["--private"] : []),
      ...(revision === null ? [] : ["--revision", revision]),
    ];
    const child = new Deno.Command(program!, {
      args,
      env: { HF_TOKEN: this.settings.token!, NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const done = child.output().then(({ success, stderr }) => {
      this.#running = null;
      if (success) return;
      const [line = ""] = new TextDecoder().decode(stderr).trim().split("\n")
        .filter((text) => text.startsWith("error:"));
      this.shown.warn(`${path} was not uploaded: ${line.replace("error: ", "")}`);
    });
    return { child, done };
  }

  async finish({ status }: TrainSummary): Promise<void> {
    await this.#running?.done;
    if (status !== "completed") return;
    const { asked, settings, folder } = this;
    try {
      const { url } = await shareModel(folder, {
        ...asked,
        settings,
        message: "End of training",
        onEvent: this.shown.progress,
      });
      this.shown.tell(`Uploaded: ${url}`);
    } catch (error) {
      const advice = error instanceof RgxError ? ` ${error.advice ?? ""}` : "";
      this.shown.warn(
        `The model was not uploaded: ${messageOf(error)}.${advice} Later: ` +
          uploadCommand(folder, asked),
      );
    }
  }

  close(): void {
    try {
      this.#running?.child.kill("SIGTERM");
    } catch {
      // it has ended
    }
  }
}
