/** Runs that learn from a teacher: its term in the gradient, whole runs, and what is refused. */
import assert from "node:assert/strict";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { TEACHER, TRAINING } from "../configs/schema/schema.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { Interrupted } from "../core/errors.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { readModelFolder } from "../models/model_folder.ts";
import { initWeights } from "../models/network/weights/init.ts";
import { tinyConfig } from "../models/testing.ts";
import { goldenPath } from "../tests/golden.ts";
import { assemble } from "./assemble.ts";
import { modelTeacher, type Teacher } from "./model/teacher.ts";
import { TeacherServer } from "./model/teacher_server.ts";
import { accumulateGradients, type TrainingRow } from "./step/gradient_accumulation.ts";
import {
  metricsWithoutClock,
  stopsAfter,
  test,
  tinyRunConfig,
  trainOn,
  varying,
  weightsOf,
} from "./testing.ts";
import { tinyModelFolder } from "./tiny_model_testing.ts";

const ROWS: TrainingRow[] = [[4, 5, 6], [7, 8], [10, 11, 12, 13], [9]].map((ids, i) => ({
  group: Math.floor(i / 2),
  promptId: Math.floor(i / 2),
  branch: i % 2,
  promptIds: i < 2 ? [1, 2, 3] : [14, 15],
  ids,
  mask: i === 2 ? [1, 0, 1, 1] : null,
  advantage: [1, -1, 0, 0][i]!,
  oldLogp: null,
}));

/** The gradient of a step, its loss, and the metric of the teacher. */
async function step(
  microBatchSize: number,
  lossScale: number,
  weight: number | null,
  { beta = 0.5, top_k = null as number | null, rows = ROWS, isOwn = false } = {},
) {
  const device = createReferenceDevice({ float: "f64" }), config = tinyConfig(true);
  const model = await CausalLM.create(device, config, initWeights(config, 1, 0.3), {
    trainable: "full",
  });
  const other = { ...config, hiddenSize: 8, numHeads: 2 };
  const weights = initWeights(other, 2, 0.4);
  const teacher: Teacher | null = weight === null ? null : modelTeacher(
    isOwn ? model : await CausalLM.create(device, other, weights, { trainable: "none" }),
    { beta, weight, top_k },
  );
  const { loss, metrics } = await accumulateGradients(model, rows, {
    microBatchSize,
    temperature: 1,
    settings: defaultsOf(TRAINING),
    maxCompletionLength: 8,
    reference: null,
    teacher,
    lossScale,
  });
  const gradient: number[] = [];
  for (const { grad } of model.trainable) {
    gradient.push(...(await device.read(grad!, 0, grad!.length)).map((x) => x / lossScale));
  }
  return { loss, gradient, divergence: metrics["teacher/divergence"] };
}

const assertNear = (a: ArrayLike<number>, b: ArrayLike<number>, limit: number) => {
  assert.equal(a.length, b.length);
  for (let i = 0; i < a.length; i++) {
    assert.ok(Math.abs(a[i]! - b[i]!) < limit, `${i}: ${a[i]} and ${b[i]}`);
  }
};

Deno.test("the teacher's term does not depend on micro-batches or on the loss's scale", async () => {
  const whole = await step(4, 1, 0.7);
  for (const [size, scale] of [[2, 1], [1, 1], [3, 256]] as const) {
    const other = await step(size, scale, 0.7);
    assert.ok(Math.abs(other.loss - whole.loss) < 1e-13, `micro-batches of ${size}`);
    assertNear(other.gradient, whole.gradient, 1e-13);
  }
  assert.ok(whole.divergence! > 0.01);
});

Deno.test("all tokens but one of a teacher's distribution are the whole of it", async () => {
  const { vocabSize } = tinyConfig(true);
  const whole = await step(2, 1, 0.7, { beta: 0 });
  const top = await step(2, 1, 0.7, { beta: 0, top_k: vocabSize - 1 });
  assert.ok(Math.abs(top.loss - whole.loss) < 1e-8, `${top.loss}, ${whole.loss}`);
  assertNear(top.gradient, whole.gradient, 1e-8);
  const few = await step(4, 1, 0.7, { beta: 0, top_k: 2 });
  assert.ok(few.divergence! > 0.01 && few.divergence! < whole.divergence!);
  assertNear((await step(1, 1, 0.7, { beta: 0, top_k: 2 })).gradient, few.gradient, 1e-13);
});

Deno.test("a policy learns from itself where its teacher's prompt is another one", async () => {
  const same = await step(4, 1, 1, { isOwn: true });
  assert.ok(Math.abs(same.divergence!) < 1e-12);
  const hinted = ROWS.map((row) => ({ ...row, teacherPromptIds: [5, ...row.promptIds, 6, 7] }));
  const other = await step(4, 1, 1, { isOwn: true, rows: hinted });
  assert.ok(other.divergence! > 1e-4, String(other.divergence));
  assertNear((await step(1, 1, 1, { isOwn: true, rows: hinted })).gradient, other.gradient, 1e-13);
});

Deno.test("the teacher's term is added to that of the advantages, times its weight", async () => {
  const [without, one, two] = [await step(4, 1, null), await step(4, 1, 1), await step(4, 1, 2)];
  assert.ok(Math.abs(one.loss - without.loss - one.divergence!) < 1e-13);
  const term = (of: typeof one) => of.gradient.map((x, i) => x - without.gradient[i]!);
  assertNear(term(two), term(one).map((x) => 2 * x), 1e-13);
});

/** A run of the tiny model that learns from the model in `${folder}/teacher`. */
function configIn(folder: string, output: string, more: Partial<RunConfig["training"]> = {}) {
  return tinyRunConfig(`${folder}/${output}`, {
    sft: null,
    eval: { num_examples: 0 },
    rewards: [],
    teacher: { ...defaultsOf(TEACHER), model_name_or_path: `${folder}/teacher` },
    training: { max_steps: 4, save_steps: 1, learning_rate: 1e-2, beta: 0, seed: 7, ...more },
  });
}

test.onWasm("a run without rewards comes closer to its teacher, and resumes to the bit", async ({ device, dir: folder }) => {
  await tinyModelFolder(`${folder}/teacher`);
  await trainOn(device, configIn(folder, "whole"));
  const lines = await metricsWithoutClock(`${folder}/whole`, "train");
  const divergences = lines.map((line) => Number(line["teacher/divergence"]));
  assert.ok(divergences[3]! < 0.9 * divergences[0]!, String(divergences));
  assert.equal(lines[0]!["loss"], lines[0]!["teacher/divergence"]);
  const part = configIn(folder, "part");
  await trainOn(device, part, stopsAfter(2));
  await trainOn(device, part, { resume: true });
  assert.deepEqual(await weightsOf(`${folder}/part`), await weightsOf(`${folder}/whole`));
});

test.onWasm("a policy that is its teacher with the answer in its prompt resumes to the bit", async ({ device, dir: folder }) => {
  const config = (output: string) => {
    // The run stops between two steps on one batch, whose prompts the checkpoint holds.
    const run = configIn(folder, output, { steps_per_generation: 4 });
    run.teacher = {
      ...defaultsOf(TEACHER),
      teacher_prompt_template: "{prompt} {answer}",
      beta: 0,
    };
    return run;
  };
  await trainOn(device, config("whole"));
  const [line] = await metricsWithoutClock(`${folder}/whole`);
  assert.ok(Number(line!["teacher/divergence"]) > 1e-4, String(line!["teacher/divergence"]));
  await trainOn(device, config("part"), stopsAfter(3));
  await trainOn(device, config("part"), { resume: true });
  assert.deepEqual(await weightsOf(`${folder}/part`), await weightsOf(`${folder}/whole`));
});

test.onWasm("a teacher stands beside rewards, in the plan of the memory too", async ({ device, dir: folder }) => {
  await tinyModelFolder(`${folder}/teacher`);
  const config = configIn(folder, "both", { max_steps: 1 });
  await trainOn(device, config, varying);
  const [line] = await metricsWithoutClock(`${folder}/both`);
  assert.ok(Number(line!["teacher/divergence"]) > 0 && Number(line!["reward"]) > 0);
  const plans = [];
  for (const teacher of [config.teacher, null]) {
    const { model, memory, teacher: loaded } = await assemble(
      { ...config, teacher, rewards: tinyRunConfig("").rewards },
      device,
    );
    plans.push(memory);
    model.dispose();
    loaded?.dispose();
  }
  const [withTeacher, without] = plans;
  assert.ok(withTeacher!.parts.teacher > 0 && without!.parts.teacher === 0);
  assert.ok(withTeacher!.peak >= without!.peak + withTeacher!.parts.teacher);
});

Deno.test("a stop ends the wait for a teacher's server", async () => {
  const { tokenizer } = await readModelFolder(goldenPath("models/tinystories-656k"));
  let asked = 0;
  const silent = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ signal }) => {
      asked++;
      // Until the client has gone.
      return new Promise((end) => signal.addEventListener("abort", () => end(new Response())));
    },
  );
  for (const port of [silent.addr.port, 9]) {
    const section = { ...defaultsOf(TEACHER), base_url: `http://127.0.0.1:${port}/v1` };
    let checks = 0;
    const teacher = new TeacherServer(section, tokenizer!, 2048, () => {
      if (++checks % 3 === 0) throw new Interrupted();
    });
    await assert.rejects(teacher.open(), Interrupted);
    await assert.rejects(teacher.ask([{ promptIds: [1], branches: [[2, 3], [4]] }]), Interrupted);
    teacher.dispose();
  }
  assert.ok(asked > 0);
  await silent.shutdown();
});

test.inFolder("a teacher that reads other tokens is refused with the reason", async (folder) => {
  const config = configIn(folder, "run");
  config.teacher!.model_name_or_path = goldenPath("models/tinystories-656k");
  const device = createReferenceDevice();
  await assert.rejects(
    assemble(config, device),
    /teacher\.model_name_or_path: .*tinystories-656k has 2048 tokens, the student \d+/,
  );
});
