/** Switches of other trainers: of trackers, of the type of products, of an adapter. */
import assert from "node:assert/strict";
import { assertErrorsMatch, load } from "../testing.ts";

const START = "model_name_or_path: m\ntask_name: chain_sum\nrewards: [correctness]\nrun_name: r\n";

Deno.test("report_to and the switches of other trainers name the same trackers", async () => {
  const cases: [string, string[]][] = [
    ["", []],
    ["report_to: none", []],
    ["report_to: jsonl", []],
    ["report_to: null", []],
    ["report_to: trackio", ["trackio"]],
    ["report_to: wandb,mlflow", ["wandb", "mlflow"]],
    ["training: {report_to: [wandb, tensorboard]}", ["tensorboard", "wandb"]],
    ["logging: {report_to: all}", ["tensorboard", "trackio", "wandb", "mlflow"]],
    ["report_to: all\nlogging: {no_trackio: true}", ["tensorboard", "wandb", "mlflow"]],
    ["report_to: [trackio, tensorboard]\nno_trackio: true", ["tensorboard"]],
    ["logging: {use_trackio: true}", ["trackio"]],
    ["logging: {use_wandb: false, wandb_project: p}", []],
    ["logging: {wandb_project: p}", ["wandb"]],
    ["logging: {wandb_project: p, report_to: none}", []],
    ["logging: {project: p}", []],
    ["trainer: {logger: [console, mlflow]}", ["mlflow"]],
    ["trainer: {logger: [console, tensorboard]}", ["tensorboard"]],
    ["trainer: {logger: [console, tensorboard]}\nreport_to: []", []],
  ];
  for (const [yaml, expected] of cases) {
    const { config } = await load(`${START}${yaml}\n`);
    assert.deepEqual(config.logging.report_to, expected, yaml);
  }
});

Deno.test("an unknown tracker is refused with the nearest name; verl's get a note", async () => {
  await assert.rejects(
    load(`${START}report_to: [trackio, tensorbord]\n`),
    /report_to\.1.*tensorbord.*did you mean tensorboard/s,
  );
  await assert.rejects(load(`${START}report_to: 3\n`), /report_to.*expected one or a list/s);
  const { notes } = await load(`${START}trainer: {logger: [swanlab]}\n`);
  assert.match(notes.join(), /trainer\.logger: rgx writes no files for swanlab/);
});

Deno.test("bf16 and fp16 of transformers contradict each other, and are switches", async () => {
  const { notes } = await load(`${START}bf16: true\nfp16: false\n`);
  assert.deepEqual(notes, []);
  await assertErrorsMatch([
    ["fp16: true\nbf16: true", /fp16: bf16 at f\.yaml:6:7 says something else: give one of them/],
    ["bf16: 3", /expected true or false/],
  ], START);
});

Deno.test("TRL's keys of an adapter without use_peft: a note, since TRL trains all weights", async () => {
  const adapter = async (yaml: string, ...overrides: string[]) => {
    const { config, notes } = await load(START + yaml, { overrides });
    return { r: config.lora?.r, notes: notes.filter((note) => note.includes("use_peft")) };
  };
  const { r, notes } = await adapter("lora_r: 4\nlora_alpha: 8\n");
  assert.equal(r, 4);
  assert.match(
    notes.join(),
    /^f\.yaml:5:9: lora_r: trains an adapter; TRL would train all weights/,
  );
  const silent: [yaml: string, overrides: string[], r: number | undefined][] = [
    ["lora_r: 4\nuse_peft: true\n", [], 4],
    ["lora_r: 4\nuse_peft: false\n", [], undefined],
    ["lora: {r: 4}\n", [], 4],
    ["lora: {alpha: 4}\n", ["lora_r=2"], 2],
  ];
  for (const [yaml, overrides, expected] of silent) {
    assert.deepEqual(await adapter(yaml, ...overrides), { r: expected, notes: [] }, yaml);
  }
});
