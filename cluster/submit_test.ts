import assert from "node:assert/strict";
import { test, withFolder } from "../core/testing.ts";
import { checkMpiType, checkPartitionTime, outsideOfJobs } from "./submit.ts";
import { submit, writeScript } from "./submit.ts";
import { refuses, standIns } from "./testing.ts";

const script = (folder: string) => ({ text: "#!/bin/bash\n", logs: `${folder}/work/logs` });

test.inFolder("the folder of the logs is created; no file is replaced without --force", async (folder) => {
  const path = `${folder}/job.sh`;
  await writeScript(script(folder), path);
  assert.ok((await Deno.stat(`${folder}/work/logs`)).isDirectory);
  assert.equal((await Deno.stat(path)).mode! & 0o777, 0o755);
  await refuses(() => writeScript(script(folder), path), [`--output ${path}: the file is there`]);
  await writeScript({ ...script(folder), text: "#!/bin/sh\n" }, path, { force: true });
  assert.equal(await Deno.readTextFile(path), "#!/bin/sh\n");
  await refuses(() => writeScript(script(folder), folder), ["is a folder"]);
  const place = "a.yaml:3:11: slurm.output: ";
  await refuses(() => writeScript(script(folder), folder, { place }), [
    `${place}${folder}: is a`,
  ]);
  await refuses(() => writeScript(script(folder), `${folder}/no/job.sh`), ["there is no folder"]);
});

/** Stand-ins for SLURM's programs, which this process finds too. */
async function withPrograms(
  programs: Record<string, string>,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const before = Deno.env.get("PATH")!;
    Deno.env.set("PATH", await standIns(folder, programs));
    try {
      await work(folder);
    } finally {
      Deno.env.set("PATH", before);
    }
  });
}

Deno.test("a job that is submitted from another one does not get its variables", () => {
  const kept = { PATH: "/bin", SLURM_CONF: "/etc/slurm.conf", SBATCH_ACCOUNT: "a" };
  const env = { ...kept, SLURM_JOB_ID: "7", SLURM_ARRAY_TASK_ID: "1", SLURM_MEM_PER_CPU: "100" };
  assert.deepEqual(outsideOfJobs(env).env, kept);
});

Deno.test("the messages of sbatch are reported", async () => {
  const refused = "echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1";
  await withPrograms(
    { sbatch: "echo '12;cluster'", other: "echo 12; exit 1", no: refused },
    async () => {
      assert.deepEqual(await submit(["sbatch", "--parsable"], "/tmp"), ["12"]);
      await refuses(() => submit(["other"], "/tmp"), ["refused the job (submitted: 12)"], 1);
      await refuses(() => submit(["no"], "/tmp"), ["job: Batch job submission failed: Invalid"], 1);
      await refuses(() => submit(["no-such-program"], "/tmp"), ["there is no no-such-program"], 1);
    },
  );
});

Deno.test("a job that is longer than its partition allows is not submitted", async () => {
  const scontrol = 'echo "PartitionName=$5 MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0"';
  await withPrograms({ scontrol }, async () => {
    await checkPartitionTime("GPUQ", "24:00:00");
    await refuses(() => checkPartitionTime("GPUQ", "24:01:00"), [
      "--time 24:01:00: partition GPUQ allows at most 1-00:00:00",
    ]);
    await checkPartitionTime("a,b", "9-00:00:00");
  });
  await withPrograms(
    { scontrol: "echo MaxTime=UNLIMITED" },
    () => checkPartitionTime("GPUQ", "99-00:00:00"),
  );
  await withPrograms({ scontrol: "exit 1" }, () => checkPartitionTime("GPUQ", "99-00:00:00"));
});

Deno.test("a cluster's own list of MPI types says which there are", async () => {
  const newer = "echo 'MPI plugin types are...'; printf '\\tnone\\n\\tpmi2\\n\\tpmix\\n'; " +
    "echo 'specific pmix plugin versions available: pmix_v4,pmix_v5'";
  const older = "for word in 'MPI types are...' none pmi2 pmix pmix_v4 pmix_v5; do " +
    'echo "srun: $word" >&2; done';
  const refused = [
    ["pmix_v3", "srun has no such type here", "pmi2, pmix"],
    ["bogus", "srun has no such type here"],
    ["none", "starts processes that do not know of each other"],
  ] as const;
  for (const srun of [newer, older]) {
    await withPrograms({ srun }, async () => {
      for (const type of ["pmix", "pmi2", "pmix_v5"]) {
        assert.deepEqual(await checkMpiType(type), []);
      }
      for (const [type, why, ...known] of refused) {
        await refuses(() => checkMpiType(type), [`--mpi ${type}: ${why}`, ...known]);
      }
    });
  }
});

Deno.test("away from a cluster, an unknown MPI type is a note", async () => {
  const srun = "echo 'srun: fatal: Could not establish a configuration source' >&2; exit 1";
  await withPrograms({ srun }, async () => {
    for (const type of ["pmix", "pmi2", "pmix_v4", "cray_shasta", "openmpi"]) {
      assert.deepEqual(await checkMpiType(type), []);
    }
    const known = /^--mpi pmixx is no type that rgx knows .*did you mean pmix\?; srun --mpi=list/;
    const notes = await checkMpiType("pmixx");
    assert.ok(notes.length === 1 && known.test(notes[0]!), notes.join());
    await refuses(() => checkMpiType("list"), ["--mpi list: only lists the types"]);
  });
});
