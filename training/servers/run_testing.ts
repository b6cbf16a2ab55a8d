/** For tests only: runs of an adapter on the tiny model, with servers in this process. */
import { withFolder } from "../../core/testing.ts";
import {
  type ConfigChanges,
  type FinishedRun,
  metricsWithoutClock,
  tinyRunConfig,
  trainOn,
  varying,
  withWasm,
} from "../testing.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { tinyModelFolder } from "../tiny_model_testing.ts";
import type { TrainerOptions } from "../trainer.ts";
import { startServer, type TestServer, type TestServerOptions } from "./server_testing.ts";

export interface ServedRuns {
  /** The path of a run. */
  at(name: string): string;
  start(options?: TestServerOptions): Promise<TestServer>;
  run(
    name: string,
    changes: ConfigChanges,
    more?: Partial<TrainerOptions>,
  ): Promise<FinishedRun>;
  outcome(name: string): Promise<Outcome>;
  /** That of a run in one process, which servers must not change. */
  alone(): Promise<Outcome>;
}

/** The trained adapter of a run, and its metrics without events. */
interface Outcome {
  weights: string;
  metrics: Record<string, unknown>[];
}

/** One run for all tests. */
let alone: Promise<Outcome> | undefined;

/** Calls `work` with the tiny model in a temporary folder; servers are closed afterwards. */
export async function withServers(work: (runs: ServedRuns) => Promise<void>): Promise<void> {
  await withWasm((device) =>
    withFolder(async (dir) => {
      const model = `${dir}/model`, servers: TestServer[] = [];
      await tinyModelFolder(model);
      const at = (name: string) => `${dir}/${name}`;
      const run: ServedRuns["run"] = (name, changes, more = {}) =>
        trainOn(device, tinyRunConfig(at(name), changed(model, changes)), { ...varying, ...more });
      const outcome = async (name: string): Promise<Outcome> => {
        const bytes = await Deno.readFile(`${at(name)}/adapter_model.safetensors`);
        const metrics = await metricsWithoutClock(at(name));
        return {
          weights: sha256Hex(bytes),
          metrics: metrics.filter((line) => !("event" in line)),
        };
      };
      try {
        await work({
          at,
          async start(options) {
            const server = await startServer(model, options);
            servers.push(server);
            return server;
          },
          run,
          outcome,
          alone: () => alone ??= run("alone", {}).then(() => outcome("alone")),
        });
      } finally {
        for (const server of servers) await server.close();
      }
    })
  );
}

function changed(model: string, more: ConfigChanges): ConfigChanges {
  return {
    sft: null,
    eval: { num_examples: 0 },
    lora: { r: 2, lora_alpha: 4, target_modules: ["q_proj", "down_proj"] },
    model: { init: null, model_name_or_path: model },
    ...more,
    training: {
      max_steps: 4,
      learning_rate: 0.02,
      per_device_train_batch_size: 8,
      gradient_accumulation_steps: 2,
      save_steps: 2,
      ...more.training,
    },
  };
}
