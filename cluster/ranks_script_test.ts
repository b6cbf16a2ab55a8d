/** Scripts of runs with several ranks: what they ask for, how they start MPI, when they go on. */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { assertCleanShell } from "./shell_testing.ts";
import { options, queueOf, refuses, run, sbatch, standIns, writtenIn } from "./testing.ts";
import { slurmScript, type TrainScriptOptions } from "./train_script.ts";

const script = (more: TrainScriptOptions) =>
  slurmScript("quickstart", "acct", { ...options, ...more });

const request = (text: string) =>
  sbatch(text).filter((option) => /^--(nodes|ntasks|gres|mem|cpus)/.test(option)).join(" ");

Deno.test("a job has one rank for each card of its nodes", async () => {
  const plan = () => Promise.resolve({ cpus: 4, memory: 6 * 2 ** 30 });
  const { text, notes } = await script({ nodes: 2, gpus: 4, plan });
  assert.equal(
    request(text),
    "--nodes=2 --ntasks-per-node=4 --cpus-per-task=4 --gres=gpu:4 --mem=24G",
  );
  assert.match(
    text,
    /^srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --mpi="\$mpi" --kill-on-bad-exit=1 "\$\{com/m,
  );
  assert.deepEqual(notes, []);
  await assertCleanShell(text);

  const onCpu = await script({ nodes: 2, gpus: 0, tasksPerNode: 2, device: "wasm", mpi: "pmi2" });
  assert.equal(request(onCpu.text), "--nodes=2 --ntasks-per-node=2 --cpus-per-task=4 --mem=16G");
  assert.match(onCpu.text, /^mpi=pmi2$/m);
  assert.match(onCpu.text, /^srun --nodes=2 --ntasks=4 --ntasks-per-node=2 /m);
  await assertCleanShell(onCpu.text);

  const search = { nodes: 2, gpus: 2, sweep: ["training.learning_rate=1e-6,2e-6"] };
  await assertCleanShell((await script(search)).text);
  const one = await script({});
  assert.match(one.text, /^srun --nodes=1 --ntasks=1 --kill-on-bad-exit=1 "/m);
  assert.doesNotMatch(one.text, /mpi|137/);
});

Deno.test("ranks and cards that do not go together are refused or noted", async () => {
  await refuses(() => script({ gpus: 2, tasksPerNode: 4 }), [
    "--ntasks-per-node 4",
    "rank 2 of the first node would have none",
  ]);
  await refuses(() => script({ gpus: 2, mpi: "p m" }), ["--mpi"]);
  const idle = await script({ gpus: 4, tasksPerNode: 1 });
  assert.deepEqual(idle.notes, ["a rank uses one graphics card: of --gpus 4, 3 would be idle"]);
  const old = { name: "mine.sh", text: "#!/bin/bash\n{{sbatch}}\nsrun rgx train {{config}}\n" };
  await refuses(() => script({ gpus: 2, template: old }), ["{{srun}}"]);
});

/** Runs a script of two ranks with stand-ins. @returns what srun was called with, and the rest */
async function tryRanks(
  { types, program = "exit 0", mpich = false, env = {} }: {
    /** The types that srun can start. */
    types: string;
    /** A shell line in place of the ranks. */
    program?: string;
    mpich?: boolean;
    env?: Record<string, string>;
  },
  latest = false,
) {
  let result = { code: 0, out: "", err: "" }, calls = "", requeued = "";
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/logs`);
    const PATH = await standIns(folder, {
      srun: `[ "$1" != --mpi=list ] || exit 0\n` +
        `if [ "$4" = true ]; then case " ${types} " in *" \${3#--mpi=} "*) exit 0 ;; esac; exit 1; fi\n` +
        `echo "$4" >>${folder}/calls\n${program}`,
      ...queueOf(folder),
      ...(mpich ? { mpichversion: "true" } : { ompi_info: "true" }),
    });
    if (latest) await Deno.mkdir(`${folder}/experiments/quickstart/latest`, { recursive: true });
    const { text } = await slurmScript("quickstart", "acct", {
      workDir: folder,
      program: ["rgx"],
      env: {},
      gpus: 2,
    });
    // Programs of this machine must not decide: only the stand-ins and what bash needs.
    for (const name of ["tr", "cat", "grep", "rm"]) {
      await Deno.symlink(`/usr/bin/${name}`, `${folder}/bin/${name}`);
    }
    const only = PATH.split(":")[0]!;
    result = await run(["/bin/bash", "-c", text], {
      env: { PATH: only, SLURM_JOB_ID: "12", ...env },
    });
    [calls, requeued] = [await writtenIn(`${folder}/calls`), await writtenIn(`${folder}/requeued`)];
  });
  return { ...result, calls, requeued };
}

const BOTH = "pmix pmi2";

Deno.test("srun starts the ranks with an MPI type that works and that the library needs", async () => {
  assert.equal((await tryRanks({ types: BOTH })).calls, "--mpi=pmix\n");
  assert.equal((await tryRanks({ types: BOTH, mpich: true })).calls, "--mpi=pmi2\n");
  assert.equal((await tryRanks({ types: "pmi2" })).calls, "--mpi=pmi2\n");
  const none = await tryRanks({ types: "" });
  assert.deepEqual([none.code, none.calls], [1, ""]);
  assert.match(none.err, /srun starts no MPI here, neither pmix nor pmi2/);
});

Deno.test("a killed rank is code 75 where there is a checkpoint, unless the job is ending", async () => {
  for (const code of [137, 143]) {
    const kept = await tryRanks({ types: BOTH, program: `exit ${code}` }, true);
    assert.deepEqual([kept.code, kept.requeued], [75, "requeue 12\n"]);
    const without = await tryRanks({ types: BOTH, program: `exit ${code}` });
    assert.deepEqual([without.code, without.requeued], [code, ""]);
  }
  const cancelled = await tryRanks(
    { types: BOTH, program: "kill -TERM $PPID; sleep 0.3; exit 143" },
    true,
  );
  assert.deepEqual([cancelled.code, cancelled.requeued], [143, ""]);
  const failed = await tryRanks({ types: BOTH, program: "exit 1" }, true);
  assert.deepEqual([failed.code, failed.requeued], [1, ""]);
});
