/** Environments of real schedulers and launchers (SLURM 22.05, Open MPI 4.1, MPICH 4.0). */
import assert from "node:assert/strict";
import { type Env, processLayout, slurmJob } from "./job.ts";
import { jobHasEnded, jobMemory, parseSlurmTime, secondsLeft } from "./slurm_queue.ts";

const from = (variables: Record<string, string>): Env => (name) => variables[name];

/** The batch script of `sbatch -c 3 --mem=2G --gres=gpu:a100:2`. */
const BATCH = {
  CUDA_VISIBLE_DEVICES: "0,1",
  SLURMD_NODENAME: "n1",
  SLURM_CPUS_ON_NODE: "3",
  SLURM_CPUS_PER_TASK: "3",
  SLURM_GPUS_ON_NODE: "2",
  SLURM_JOB_GPUS: "0,1",
  SLURM_JOB_ID: "17",
  SLURM_JOB_NAME: "rgx-train",
  SLURM_JOB_NODELIST: "n1",
  SLURM_JOB_NUM_NODES: "1",
  SLURM_JOB_PARTITION: "GPUQ",
  SLURM_LOCALID: "0",
  SLURM_MEM_PER_NODE: "2048",
  SLURM_NNODES: "1",
  SLURM_NODEID: "0",
  SLURM_PROCID: "0",
  SLURM_SUBMIT_DIR: "/home/u/rgx",
  SLURM_TASKS_PER_NODE: "1",
};

/** A task that srun started in this job. */
const STEP = {
  ...BATCH,
  SLURM_NTASKS: "1",
  SLURM_STEP_GPUS: "0,1",
  SLURM_STEP_ID: "0",
  SLURM_STEP_NUM_TASKS: "1",
  SLURM_STEP_TASKS_PER_NODE: "1",
};

Deno.test("the environment of a batch script describes its job", () => {
  assert.deepEqual(slurmJob(from(BATCH)), {
    id: "17",
    name: "rgx-train",
    partition: "GPUQ",
    nodeList: "n1",
    node: "n1",
    nodes: 1,
    tasks: null,
    array: null,
    restarts: 0,
    cpusPerTask: 3,
    cpusOnNode: 3,
    memory: 2 * 2 ** 30,
    gpus: ["0", "1"],
    endTime: null,
    submitDir: "/home/u/rgx",
  });
  assert.equal(processLayout(from(BATCH)), null);
  assert.equal(processLayout(from(STEP)), null);
});

Deno.test("the result is null without a job; a value that is no number counts as absent", () => {
  assert.equal(slurmJob(from({})), null);
  assert.equal(slurmJob(from({ SLURM_JOB_ID: "" })), null);
  const job = slurmJob(from({
    SLURM_JOB_ID: "5",
    SLURM_CPUS_PER_TASK: "many",
    SLURM_RESTART_COUNT: "",
    SLURM_MEM_PER_NODE: "-1",
    SLURM_JOB_GPUS: "",
  }))!;
  assert.deepEqual([job.cpusPerTask, job.restarts, job.memory, job.gpus, job.node], [
    null,
    0,
    null,
    null,
    null,
  ]);
});

Deno.test("a task of an array is named by its index, also the last one", () => {
  const last = {
    ...BATCH,
    SLURM_JOB_ID: "20",
    SLURM_ARRAY_JOB_ID: "20",
    SLURM_ARRAY_TASK_ID: "4",
    SLURM_ARRAY_TASK_COUNT: "5",
    SLURM_RESTART_COUNT: "2",
  };
  const job = slurmJob(from(last))!;
  assert.equal(job.id, "20_4");
  assert.deepEqual(job.array, { job: "20", task: 4, count: 5 });
  assert.equal(job.restarts, 2);
});

Deno.test("memory is given per node, per core or per GPU; 0 means all of the node", () => {
  const memory = (variables: Record<string, string>) =>
    slurmJob(from({ SLURM_JOB_ID: "1", SLURM_CPUS_ON_NODE: "4", ...variables }))!.memory;
  assert.equal(memory({ SLURM_MEM_PER_NODE: "1024" }), 2 ** 30);
  assert.equal(memory({ SLURM_MEM_PER_CPU: "1024" }), 4 * 2 ** 30);
  assert.equal(memory({ SLURM_MEM_PER_GPU: "512", SLURM_GPUS_ON_NODE: "2" }), 2 ** 30);
  assert.equal(memory({ SLURM_MEM_PER_GPU: "512" }), null);
  assert.equal(memory({ SLURM_MEM_PER_NODE: "0" }), null);
});

Deno.test("cores of the node are shared by the tasks that srun starts on it", () => {
  const cores = (variables: Record<string, string>) =>
    slurmJob(from({ SLURM_JOB_ID: "1", SLURM_CPUS_ON_NODE: "8", ...variables }))!.cpusOnNode;
  const step = { SLURM_STEP_ID: "0", SLURM_STEP_TASKS_PER_NODE: "2(x2),4" };
  assert.equal(cores({}), 8);
  assert.equal(cores({ SLURM_STEP_TASKS_PER_NODE: "2" }), 8);
  assert.equal(cores({ ...step, SLURM_NODEID: "1" }), 4);
  assert.equal(cores({ ...step, SLURM_NODEID: "2" }), 2);
  assert.equal(cores({ ...step, SLURM_NODEID: "9" }), 8);
});

Deno.test("several processes are distinguished from one, for every launcher", () => {
  const openMpi = { OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "3", PMIX_RANK: "3" };
  const cases: [Record<string, string>, ReturnType<typeof processLayout>][] = [
    [{ ...STEP, SLURM_STEP_NUM_TASKS: "2", SLURM_PROCID: "1" }, {
      rank: 1,
      size: 2,
      from: "SLURM_STEP_NUM_TASKS",
    }],
    // The allocation has two tasks, but its script is one process.
    [{ ...BATCH, SLURM_NTASKS: "2" }, null],
    [{ ...BATCH, ...openMpi }, { rank: 3, size: 4, from: "OMPI_COMM_WORLD_SIZE" }],
    [{ PMI_SIZE: "2", PMI_RANK: "0" }, { rank: 0, size: 2, from: "PMI_SIZE" }],
    [{ WORLD_SIZE: "8", RANK: "5" }, { rank: 5, size: 8, from: "WORLD_SIZE" }],
    [{ WORLD_SIZE: "1", RANK: "0" }, null],
    [{ WORLD_SIZE: "8" }, null],
  ];
  for (const [variables, layout] of cases) assert.deepEqual(processLayout(from(variables)), layout);
});

Deno.test("times in SLURM's format are parsed", () => {
  const times: [string, number | null][] = [
    ["5:00", 300],
    ["0:07", 7],
    ["59:59\n", 3599],
    ["3:04:05", 11045],
    ["1-02:03:04", 93784],
    ["UNLIMITED", null],
    ["INVALID", null],
    ["NOT_SET", null],
    ["", null],
    ["Partition_Limit", null],
  ];
  for (const [text, seconds] of times) assert.equal(parseSlurmTime(text), seconds, text);
});

Deno.test("the time left comes from the environment, from squeue, or from scontrol", async () => {
  const asked: string[] = [];
  const answers =
    (texts: Record<string, string | null>) => (command: string, args: readonly string[]) => {
      asked.push([command, ...args].join(" "));
      return Promise.resolve(texts[command] ?? null);
    };
  const left = (variables: Record<string, string>, texts: Record<string, string | null>) =>
    secondsLeft(slurmJob(from({ SLURM_JOB_ID: "20", ...variables })), {
      ask: answers(texts),
      now: 1000,
    });
  assert.equal(await left({ SLURM_JOB_END_TIME: "1600" }, {}), 600);
  assert.equal(await left({ SLURM_JOB_END_TIME: "900" }, {}), 0);
  assert.deepEqual(asked, []);
  assert.equal(await left({}, { squeue: "1:10\n" }), 70);
  assert.deepEqual(asked, ["squeue -h -j 20 -o %L"]);
  assert.equal(await left({}, { squeue: "UNLIMITED\n" }), null);
  const scontrol = "JobId=20 JobName=x RunTime=00:01:30 TimeLimit=00:05:00 TimeMin=N/A";
  const array = { SLURM_ARRAY_JOB_ID: "18", SLURM_ARRAY_TASK_ID: "2" };
  asked.length = 0;
  assert.equal(await left(array, { scontrol }), 210);
  assert.deepEqual(asked, ["squeue -h -j 18_2 -o %L", "scontrol show job -o 18_2"]);
  assert.equal(await left({}, {}), null);
  assert.equal(await secondsLeft(null), null);
});

Deno.test("on a node without SLURM's commands the time left is unknown", async () => {
  const job = slurmJob(from({ SLURM_JOB_ID: "1" }));
  const path = Deno.env.get("PATH");
  Deno.env.set("PATH", "/nonexistent");
  try {
    assert.equal(await secondsLeft(job), null);
  } finally {
    if (path !== undefined) Deno.env.set("PATH", path);
  }
});

Deno.test("a job has ended when the queue shows this job but not that one as active", async () => {
  const current = slurmJob(from({ SLURM_JOB_ID: "20" }))!;
  const ended = (list: string | null, id = "17") =>
    jobHasEnded(id, current, (command, args) => {
      assert.deepEqual([command, ...args], ["squeue", "-h", "-j", `20,${id}`, "-o", "%i %T"]);
      return Promise.resolve(list);
    });
  assert.equal(await ended("20 RUNNING\n"), true);
  assert.equal(await ended("20 RUNNING\n17 PENDING\n"), true);
  assert.equal(await ended("17 RUNNING\n20 RUNNING\n"), false);
  assert.equal(await ended("17 COMPLETING\n20 RUNNING\n"), false);
  assert.equal(await ended("20 RUNNING\n17_3 RUNNING\n", "17_3"), false);
  assert.equal(await ended("20 RUNNING\n17_4 RUNNING\n", "17_3"), true);
  // The SLURM of another cluster, or none.
  assert.equal(await ended(""), null);
  assert.equal(await ended(null), null);
});

Deno.test("the job's memory is asked of scontrol where the environment does not tell it", async () => {
  const job = { id: "7", memory: null, cpusOnNode: 4 };
  const shown = (text: string) => jobMemory(job, () => Promise.resolve(text));
  assert.equal(await shown("JobId=7 MinCPUsNode=1 MinMemoryNode=900M MinTmpDiskNode=0"), 900 << 20);
  assert.equal(await shown("JobId=7 MinMemoryCPU=1.5G MinTmpDiskNode=0"), 6 * 2 ** 30);
  assert.equal(await shown("JobId=7 MinMemoryNode=0 MinTmpDiskNode=0"), null);
  assert.equal(await jobMemory(job, () => Promise.resolve(null)), null);
  const known = { ...job, memory: 5 };
  assert.equal(await jobMemory(known, () => assert.fail("nothing has to be asked")), 5);
});
