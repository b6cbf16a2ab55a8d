/** Who hears of a run: the lines on the terminal, the trackers, and the uploads to the Hub. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { Device } from "../../kernels/device.ts";
import type { TrainListener, TrainSummary } from "../../training/run/events.ts";
import { RunTracking } from "../../training/run/run_tracking.ts";
import { drawText, LoadProgress } from "../models/load_progress.ts";
import { uploadProgress } from "../models/upload.ts";
import { log } from "../terminal/terminal.ts";
import { type HubUploads, hubUploads } from "./hub_uploads.ts";
import { readChosenMetrics } from "./metric_lines.ts";
import { TrainProgress } from "./train_progress.ts";
import type { TrainOptions } from "./train_options.ts";

export class RunObservers {
  readonly progress: TrainProgress;
  /** The progress of loading the model. */
  readonly loading: LoadProgress;
  /** The progress of drawing held-out problems. */
  readonly drawing: LoadProgress;
  /** Whether nothing but warnings is printed. */
  readonly quiet: boolean;
  readonly #tracking: RunTracking | null;
  #uploads: HubUploads | null = null;
  #hasBegun = false;

  /** @param isFirst whether this is the first rank: the others are silent and track nothing */
  constructor(
    private readonly config: RunConfig,
    device: Device,
    options: TrainOptions,
    private readonly isFirst: boolean,
  ) {
    const { logMetrics, ...others } = options;
    this.progress = new TrainProgress(config, device, {
      ...others,
      logMetrics: readChosenMetrics(logMetrics),
    });
    this.quiet = options.quiet || options.logFormat === "json" || !isFirst;
    this.loading = new LoadProgress(this.quiet);
    this.drawing = new LoadProgress(this.quiet, drawText);
    this.#tracking = isFirst
      ? new RunTracking(config, Deno.env.toObject(), (message) => this.#warn(message))
      : null;
  }

  /** Whether the run has been planned. From then on the output folder belongs to it. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** What the trainer calls with each event. */
  get listeners(): TrainListener[] {
    if (!this.isFirst) return [];
    return [
      (event) => this.progress.on(event),
      (event) => this.#tracking?.on(event),
      (event) => this.#uploads?.on(event),
      (event) => this.#hasBegun ||= event.type === "plan",
    ];
  }

  /** Prepares the uploads that the configuration asks for. @throws UsageError without a token */
  async openUploads(): Promise<void> {
    if (!this.isFirst) return;
    this.#uploads = await hubUploads(this.config, {
      tell: (text) => this.quiet || log(text),
      warn: (message) => this.#warn(message),
      progress: this.quiet ? () => {} : uploadProgress(),
    });
  }

  /** Uploads the model of a complete run, and waits for what goes on. */
  async finishUploads(summary: TrainSummary): Promise<void> {
    await this.#uploads?.finish(summary);
  }

  close(): void {
    this.#uploads?.close();
    this.loading.close();
    this.progress.close();
    this.#tracking?.close();
  }

  #warn(message: string): void {
    this.progress.on({ type: "warning", message });
  }
}
