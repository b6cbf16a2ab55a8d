import assert from "node:assert/strict";
import { withFiles } from "../configs/testing.ts";
import { options, refuses, sbatch } from "./testing.ts";
import { jobOfConfig, slurmScript } from "./train_script.ts";

const SECTION = `_base_: rgx:experiments/quickstart
slurm:
  account: acct
  partition: gpu
  time: 02:00:00
  gpus: 4
  gpu_type: a100
  cpus: 8
  memory: 64g
  nodes: 2
  output: job.sh
  requeue: false
`;

Deno.test("section slurm has the defaults of a job, its base's too, and an option wins", async () => {
  const files = { "base.yaml": SECTION, "a.yaml": "_base_: base.yaml\nslurm: {nodes: 3}\n" };
  await withFiles(files, async (folder) => {
    const given = { ...options, workDir: folder };
    const { text } = await slurmScript("a.yaml", null, given);
    assert.deepEqual(sbatch(text).slice(1, 9), [
      "--account=acct",
      "--partition=gpu",
      "--nodes=3",
      "--ntasks-per-node=4",
      "--cpus-per-task=8",
      "--gres=gpu:a100:4",
      "--mem=64G",
      "--time=02:00:00",
    ]);
    assert.ok(sbatch(text).includes("--no-requeue"));
    assert.deepEqual((await jobOfConfig("a.yaml", null, given)).output, {
      path: "job.sh",
      place: `${folder}/base.yaml:11:11: slurm.output: `,
    });
    const typed = await slurmScript("a.yaml", "other", {
      ...given,
      gpus: 1,
      gpuType: "",
      time: "05:00:00",
      requeue: true,
      args: ["slurm.nodes=1"],
    });
    const lines = sbatch(typed.text);
    for (const line of ["account=other", "nodes=1", "gres=gpu:1", "time=05:00:00", "requeue"]) {
      assert.ok(lines.includes(`--${line}`), `${line}: ${lines}`);
    }
  });
});

Deno.test("slurm.work_dir is where the paths of the configuration begin", async () => {
  const rows = '{"question": "1+1", "answer": "2"}\n';
  await withFiles({ "rows.jsonl": rows }, async (folder) => {
    const yaml = "model: m\nrewards: [correctness]\ndata: {dataset_name: rows.jsonl}\n";
    const config = `${folder}/c.yaml`, job = { program: ["/opt/rgx"], env: {} };
    await Deno.writeTextFile(config, `${yaml}slurm: {account: a, work_dir: "${folder}"}\n`);
    const { text, logs } = await slurmScript(config, null, job);
    assert.equal(logs, `${folder}/logs`);
    assert.ok(text.includes(`cd ${folder}`), text);
    await Deno.writeTextFile(config, `${yaml}slurm: {account: a, work_dir: ${folder}/no}\n`);
    await refuses(
      () => slurmScript(config, null, job),
      [`c.yaml:4:31: slurm.work_dir: ${folder}/no: there is no such folder`],
    );
  });
});

Deno.test("a job without an account leaves it to SLURM", async () => {
  assert.doesNotMatch((await slurmScript("quickstart", null, options)).text, /account=/);
  await withFiles({ "a.yaml": SECTION + "slum: {}\n" }, async (workDir) => {
    await refuses(
      () => slurmScript("a.yaml", null, { ...options, workDir }),
      ["a.yaml:13:1: slum: unknown key, did you mean slurm?"],
    );
  });
});

Deno.test("the nodes and cards of a document of verl are those of its job", async () => {
  const verl = `model: m
rewards: [correctness]
task: chain_sum
trainer: {n_gpus_per_node: 4, nnodes: 2}
`;
  await withFiles({ "verl.yaml": verl }, async (workDir) => {
    const given = { ...options, workDir };
    const lines = sbatch((await slurmScript("verl.yaml", "acct", given)).text);
    for (const line of ["nodes=2", "ntasks-per-node=4", "gres=gpu:4"]) {
      assert.ok(lines.includes(`--${line}`), `${line}: ${lines}`);
    }
    const own = { ...given, args: ["slurm.gpus=2"] };
    const fewer = await slurmScript("verl.yaml", "acct", own);
    assert.ok(sbatch(fewer.text).includes("--gres=gpu:2"), fewer.text);
    assert.match(fewer.notes.join(), /2 × 4 = 8; the job has 2 × 2 ranks, as .*section slurm say/);
    const onCpu = await slurmScript("verl.yaml", "acct", { ...given, device: "wasm" });
    assert.ok(sbatch(onCpu.text).includes("--ntasks-per-node=4"), onCpu.text);
    assert.deepEqual(onCpu.notes.filter((note) => note.includes("--device wasm")), []);
  });
});
