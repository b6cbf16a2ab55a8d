/**
 * A run that was stopped, or killed with SIGKILL at any moment, resumes to the same metrics and
 * weights as an uninterrupted run.
 */
import assert from "node:assert/strict";
import { namesIn, test, withFolder } from "../core/testing.ts";
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";
import {
  type ConfigChanges,
  inSessions,
  metricsOf,
  metricsWithoutClock,
  tinyRunConfig,
  trainOn,
  varying,
} from "./testing.ts";
import { tinyModelFolder } from "./tiny_model_testing.ts";

async function withDevice<T>(work: (device: Device) => Promise<T>): Promise<T> {
  using device = await createDevice("wasm", { threads: 1 });
  return await work(device);
}

const WEIGHTS = ["model.safetensors", "adapter_model.safetensors"];

/** Metrics, final weights, and the names of the completions tables. */
async function outcome(path: string) {
  const weights: string[] = [];
  for (const name of WEIGHTS) {
    const bytes = await Deno.readFile(`${path}/${name}`).catch(() => null);
    if (bytes !== null) weights.push(new TextDecoder("latin1").decode(bytes));
  }
  assert.equal(weights.length, 1);
  const tables = namesIn(`${path}/completions`);
  const { log_history } = JSON.parse(await Deno.readTextFile(`${path}/trainer_state.json`));
  for (const entry of log_history) delete entry.step_time;
  return { metrics: await metricsWithoutClock(path), weights, tables, log_history };
}

/** Stops a run again and again, and resumes it until it is complete. @returns the sessions */
function stopAgainAndAgain(
  device: Device,
  path: string,
  changes: ConfigChanges,
): Promise<number> {
  // Each session must be long enough for a step or an evaluation.
  return inSessions((session) => 444 + 301 * (session % 5), async (options) => {
    const finished = await trainOn(device, tinyRunConfig(path, changes), {
      ...varying,
      ...options,
    });
    if (finished.summary.status === "stopped") {
      assert.equal((await metricsOf(path)).at(-1)!["event"], "stop");
      assert.equal(JSON.parse(await Deno.readTextFile(`${path}/run.json`)).status, "stopped");
    }
    return finished;
  });
}

const ADAPTER = {
  r: 2,
  lora_alpha: 4,
  lora_dropout: 0,
  target_modules: ["q_proj", "down_proj"],
  use_rslora: false,
};

/** Runs with different state: what is trained, and the reference of the KL term. */
const KINDS: Record<string, (model: string) => ConfigChanges> = {
  "8-bit moments and weights in bfloat16 with a frozen reference": () => ({
    model: { dtype: "bfloat16", init: { ...tinyRunConfig("").model.init!, hidden_size: 64 } },
    training: { beta: 0.05, optim: "adamw_8bit" },
  }),
  "Kahan's rounding, a moving reference and an adaptive entropy bonus": () => ({
    model: { dtype: "bfloat16" },
    training: {
      beta: 0.05,
      bf16_rounding: "kahan",
      sync_ref_model: true,
      ref_model_sync_steps: 2,
      use_adaptive_entropy: true,
      entropy_coef: 0.01,
      entropy_target: 3.5,
      top_entropy_quantile: 0.5,
      loss_type: "sapo",
    },
  }),
  "an adapter beside modules that are trained in full, after a warm start": (model) => ({
    lora: {
      r: 2,
      target_modules: null,
      modules_to_save: ["lm_head", "norm"],
      rank_pattern: { "layers.0.*": 1 },
      use_rslora: true,
    },
    model: { init: null, model_name_or_path: model },
    training: { beta: 0.05 },
  }),
  "an adapter on the head, with dropout": (model) => ({
    lora: { r: 3, lora_dropout: 0.1, target_modules: ["lm_head", "v_proj"], use_rslora: true },
    model: { init: null, model_name_or_path: model },
    training: { beta: 0.05 },
  }),
  "PiSSA, whose parts of the weights are read": (model) => ({
    sft: null,
    lora: { ...ADAPTER, init_lora_weights: "pissa" },
    model: { init: null, model_name_or_path: model },
    training: { beta: 0.05 },
  }),
  "activations of sampling, for the first of two steps": (model) => ({
    lora: ADAPTER,
    model: { init: null, model_name_or_path: model },
    training: { max_steps: 5, num_iterations: 2, use_rollout_activations: true, beta: 0.05 },
  }),
  "a step that takes several generations, the best checkpoint at the end": () => ({
    training: {
      steps_per_generation: 1,
      eval_strategy: "steps",
      eval_steps: 2,
      eval_on_start: true,
      num_generations_eval: 2,
      per_device_eval_batch_size: 4,
      load_best_model_at_end: true,
      metric_for_best_model: "reward",
      save_total_limit: 1,
    },
  }),
  "everything at once": (model) => ({
    data: { num_examples: 14 },
    lora: { ...ADAPTER, lora_dropout: 0.1 },
    model: { init: null, model_name_or_path: model },
    training: {
      max_steps: 7,
      beta: 0.05,
      num_iterations: 2,
      steps_per_generation: 3,
      dynamic_sampling: true,
      mask_truncated_completions: true,
      use_rollout_log_probs: true,
      scale_rewards: "batch",
      importance_sampling_level: "sequence",
      use_adaptive_entropy: true,
      eval_strategy: "steps",
      eval_steps: 3,
      lr_scheduler_type: "warmup_stable_decay",
      lr_scheduler_kwargs: { num_decay_steps: 3 },
      save_strategy: "epoch",
      gradient_checkpointing: true,
    },
  }),
};

for (const [kind, changesFor] of Object.entries(KINDS)) {
  Deno.test(`a run that is stopped repeatedly equals an uninterrupted one: ${kind}`, async () => {
    await withFolder((dir) =>
      withDevice(async (device) => {
        const model = `${dir}/model`;
        await tinyModelFolder(model);
        const changes = changesFor(model);
        await trainOn(device, tinyRunConfig(`${dir}/whole`, changes), varying);
        const expected = await outcome(`${dir}/whole`);
        const { max_steps: steps = 6 } = changes.training ?? {};
        assert.ok(expected.metrics.filter((line) => line.split === "train").length === steps);
        assert.ok(expected.metrics.some((line) => Number(line.grad_norm) > 0.01));
        const path = `${dir}/stopped`, sessions = await stopAgainAndAgain(device, path, changes);
        assert.ok(sessions >= 3, `${sessions} sessions`);
        assert.deepEqual(await outcome(path), expected);
      })
    );
  });
}

/** A child process that trains and kills itself at a given moment. */
const CHILD = (output: string, killAt: string, changes: ConfigChanges, threads: number) => `
  import { createDevice } from ${JSON.stringify(new URL("../kernels/mod.ts", import.meta.url))};
  import { tinyRunConfig, trainOn, varying } from ${
  JSON.stringify(new URL("./testing.ts", import.meta.url))
};
  const die = () => Deno.kill(Deno.pid, "SIGKILL");
  const [when, count] = ${JSON.stringify(killAt.split(" "))};
  let left = Number(count);
  const output = ${JSON.stringify(output)};
  const control = { stopRequested() {
    if (when === "asked" && --left === 0) die();
    return "no";
  } };
  if (when === "writing") {
    // Between two writes of a checkpoint: its temporary folder holds \`count\` files.
    const watch = () => {
      for (const folder of [output, output + "/warm-start"]) {
        try {
          for (const { name } of Deno.readDirSync(folder)) {
            if (!name.includes(".tmp-") || !name.startsWith("checkpoint-")) continue;
            if (Array.from(Deno.readDirSync(folder + "/" + name)).length >= left) die();
          }
        } catch { /* the folder is not there yet, or no longer */ }
      }
    };
    setInterval(watch, 0);
  }
  if (when === "after") setTimeout(die, left);
  const listeners = [(event) => {
    if (event.type === when && --left === 0) die();
  }];
  const device = await createDevice("wasm", { threads: ${threads} });
  await trainOn(device, tinyRunConfig(output, ${JSON.stringify(changes)}), {
    resume: true, ...varying, control, listeners,
  });
  device.close();
  Deno.exit(0);
`;

async function runChild(
  output: string,
  killAt: string,
  changes: ConfigChanges = {},
  threads = 1,
): Promise<"killed" | "completed"> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      `--config=${new URL("../deno.json", import.meta.url).pathname}`,
      "-",
    ],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(CHILD(output, killAt, changes, threads)));
  await writer.close();
  const { code, signal, stderr } = await child.output();
  if (signal === "SIGKILL") return "killed";
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return "completed";
}

test.inFolder("a run with all options, killed repeatedly, on varying numbers of threads", async (dir) => {
  await tinyModelFolder(`${dir}/model`);
  const { training, ...rest } = KINDS["everything at once"]!(`${dir}/model`);
  const changes = { ...rest, training: { ...training, save_strategy: "steps" as const } };
  await withDevice((device) => trainOn(device, tinyRunConfig(`${dir}/whole`, changes), varying));
  const path = `${dir}/killed`;
  const moments = ["step 2", "after 70", "step 9", "asked 30", "writing 9"];
  let killed = 0;
  for (const [i, moment] of moments.entries()) {
    if (await runChild(path, moment, changes, 1 + i % 3) === "killed") killed++;
  }
  assert.ok(killed >= 3, `only ${killed} kills hit`);
  await runChild(path, "never 0", changes, 2);
  assert.deepEqual(await outcome(path), await outcome(`${dir}/whole`));
});
