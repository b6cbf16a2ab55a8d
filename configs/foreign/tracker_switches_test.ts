import assert from "node:assert/strict";
import { load } from "../testing.ts";

const MINIMAL =
  "model_name_or_path: m\ntask_name: chain_sum\nrewards: [correctness]\nrun_name: r\n";

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
    const { config } = await load(`${MINIMAL}${yaml}\n`);
    assert.deepEqual(config.logging.report_to, expected, yaml);
  }
});

Deno.test("an unknown tracker is refused with the nearest name; verl's get a note", async () => {
  await assert.rejects(
    load(`${MINIMAL}report_to: [trackio, tensorbord]\n`),
    /report_to\.1.*tensorbord.*did you mean tensorboard/s,
  );
  await assert.rejects(load(`${MINIMAL}report_to: 3\n`), /report_to.*expected one or a list/s);
  const { notes } = await load(`${MINIMAL}trainer: {logger: [swanlab]}\n`);
  assert.match(notes.join(), /trainer\.logger: rgx writes no files for swanlab/);
});
