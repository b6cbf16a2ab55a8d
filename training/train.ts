/**
 * Training in one call, for programs: with a configuration (a name, a file or an object),
 * optionally an environment in place of its data and rewards, event handlers, and an AbortSignal.
 * The trackers of `report_to` get the metrics. Nothing is printed. `trainer.ts` has the class that
 * runs the training.
 */
import { loadConfig } from "../configs/load.ts";
import { OVERRIDES } from "../configs/documents/node.ts";
import { overrideArguments } from "../configs/reading/overrides.ts";
import type { ConfigObject, ConfigOverrides } from "../configs/config_object.ts";
import { UsageError } from "../core/errors.ts";
import { eventStream } from "../core/event_stream.ts";
import { requirePermissions, withPermissions } from "../core/machine/permissions.ts";
import type { Device } from "../kernels/device.ts";
import { createDevice, type DeviceName } from "../kernels/mod.ts";
import { assemble } from "./assemble.ts";
import type { TrainEvent, TrainSummary } from "./run/events.ts";
import type { SingleTurnEnv } from "./single_turn_env.ts";
import { RunTracking } from "./run/run_tracking.ts";
import { deviceOfRun } from "./run/run_folder.ts";
import { GrpoTrainer } from "./trainer.ts";

/** Handlers of events, by the type of the event in {@link TrainEvent}. */
export type TrainHandlers = {
  [K in TrainEvent["type"]]?: (event: Extract<TrainEvent, { type: K }>) => void;
};

/** Options of `train`; only `config` is required. */
export interface TrainOptions {
  /** The name of an embedded experiment, a YAML file's path, or an object with the same keys. */
  config: string | ConfigObject;
  /** Values that replace those of the configuration: `{ training: { max_steps: 10 } }`. */
  overrides?: ConfigOverrides;
  /** Problems and rewards in place of the configuration's. */
  env?: SingleTurnEnv;
  /** Default "auto". A device that is passed here is not closed. */
  device?: DeviceName | Device;
  /** Threads of a device that is created here. */
  threads?: number;
  /** Called with events of the run, by their type. */
  on?: TrainHandlers;
  /** Aborting it saves a checkpoint and ends the run with status "stopped". */
  signal?: AbortSignal;
  /** true: from the newest valid checkpoint of output_dir; a text: its name or path. */
  resume?: boolean | string;
  /** Replace the files of another run in output_dir. */
  force?: boolean;
  /** Let rewards in Python run, which have all rights of the user; default false. */
  allowPython?: boolean;
  /** Whether a card's kernels are measured at the beginning; see {@link TrainerOptions}. */
  tuneKernels?: boolean;
}

/**
 * Trains a model by GRPO. The result is in the folder `summary.output_dir`, which `loadModel`
 * reads.
 * @throws UsageError for options or a configuration that cannot be used; RgxError for later
 *   failures
 */
export async function train(options: TrainOptions): Promise<TrainSummary> {
  const { env, signal } = options;
  if (signal?.aborted) throw new UsageError("train: the signal was aborted before the run began");
  const run = () => withPermissions("train", RIGHTS, () => trainWith(options));
  return await (env === undefined ? run() : env.withRewards(run));
}

/**
 * As {@link train}, with the events as an async iterator. Its return value is the summary. Leaving
 * the loop saves a checkpoint and ends the run.
 */
export function trainEvents(
  options: Omit<TrainOptions, "on">,
): AsyncGenerator<TrainEvent, TrainSummary, void> {
  return eventStream(async (emit, signal) => {
    const listen = new Proxy<TrainHandlers>({}, { get: () => emit });
    return await train({ ...options, on: listen, signal });
  }, options.signal);
}

/** Permissions of every run; the memory plan and the folder's lock ask the system. */
const RIGHTS: readonly Deno.PermissionDescriptor[] = [
  { name: "env" },
  { name: "sys", kind: "systemMemoryInfo" },
  { name: "sys", kind: "hostname" },
];

async function trainWith(options: TrainOptions): Promise<TrainSummary> {
  const { env, device: asked = "auto", on = {}, signal, overrides = {} } = options;
  const { threads, resume, force, tuneKernels } = options;
  const { config, yaml } = await loadConfig(options.config, {
    overrides: overrideArguments(env === undefined ? overrides : withEnvironment(overrides, env)),
    source: OVERRIDES,
    ...(env === undefined ? {} : { heldDataset: env.name }),
  });
  const path = config.training.output_dir;
  requirePermissions("train", { name: "read", path }, { name: "write", path });
  const device = typeof asked === "string"
    ? await createDevice(asked, {
      ...(threads === undefined ? {} : { threads }),
      keep: resume ? await deviceOfRun(config.training.output_dir) : null,
    })
    : asked;
  try {
    const parts = await assemble(config, device, {
      allowPython: options.allowPython ?? false,
      ...(env !== undefined && { entries: env.dataset }),
      shouldStop: () => signal?.aborted ?? false,
      resumes: (resume ?? false) !== false,
    });
    const warn = (message: string) => handle(on, { type: "warning", message });
    const tracking = new RunTracking(config, Deno.env.toObject(), warn);
    try {
      const trainer = new GrpoTrainer({
        config,
        configText: yaml,
        device,
        ...parts,
        ...(resume === undefined ? {} : { resume }),
        ...(force === undefined ? {} : { force }),
        ...(tuneKernels === undefined ? {} : { tuneKernels }),
        control: { stopRequested: () => signal?.aborted ? "save" : "no", reason: "the signal" },
        listeners: [(event) => handle(on, event), (event) => tracking.on(event)],
      });
      return await trainer.run();
    } finally {
      tracking.close();
      parts.model.dispose();
    }
  } finally {
    if (typeof asked === "string") device.close();
  }
}

function withEnvironment(overrides: ConfigOverrides, env: SingleTurnEnv): ConfigOverrides {
  return {
    ...overrides,
    data: {
      ...overrides.data,
      task_name: null,
      tasks: null,
      task_config: {},
      dataset_name: env.name,
      eval_dataset_name: null,
      system_prompt: env.systemPrompt,
      add_instructions: env.addInstructions,
    },
    rewards: env.rewards,
  };
}

function handle(on: TrainHandlers, event: TrainEvent): void {
  (on[event.type] as ((event: TrainEvent) => void) | undefined)?.(event);
}
