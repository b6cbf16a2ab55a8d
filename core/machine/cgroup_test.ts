/** Trees of cgroups from real machines, rebuilt in a temporary folder. */
import assert from "node:assert/strict";
import { test, writeFiles } from "../testing.ts";
import { grantedCores, type KernelLimits, kernelLimits } from "./cgroup.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";

const GiB = 2 ** 30;
const V1_NONE = "9223372036854771712\n";

/** Files by path, and the limits that must be read from them. */
const TREES: { what: string; files: Record<string, string>; limits: KernelLimits }[] = [
  {
    what: "version 2 under SLURM: the limits stand two levels above the task",
    files: {
      "proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0\n",
      "proc/self/status": "Name:\tdeno\nCpus_allowed:\tff0\nCpus_allowed_list:\t4-11\n",
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0/memory.max":
        "max\n",
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0/memory.current":
        "1000\n",
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_batch/memory.max": `${32 * GiB}\n`,
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_batch/memory.current": `${
        10 * GiB
      }\n`,
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_batch/memory.stat":
        `anon 1\nfile ${9 * GiB}\nshmem ${GiB}\ninactive_file ${6 * GiB}\nactive_file ${2 * GiB}\n`,
      "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/cpu.max": "max 100000\n",
    },
    limits: { affinity: 8, quota: null, memory: { limit: 32 * GiB, used: 2 * GiB } },
  },
  {
    what: "version 1 under SLURM, cpu and cpuacct joined",
    files: {
      "proc/self/cgroup": "11:memory:/slurm/uid_1000/job_12/step_0/task_0\n" +
        "10:cpuset:/slurm/uid_1000/job_12/step_0\n" +
        "4:cpu,cpuacct:/slurm/uid_1000/job_12\n1:name=systemd:/x\n",
      "proc/self/status": "Cpus_allowed_list:\t0,2,4-5\n",
      "sys/fs/cgroup/memory/slurm/uid_1000/job_12/step_0/memory.limit_in_bytes": V1_NONE,
      "sys/fs/cgroup/memory/slurm/uid_1000/job_12/step_0/memory.usage_in_bytes": "5\n",
      "sys/fs/cgroup/memory/slurm/uid_1000/job_12/memory.limit_in_bytes": `${8 * GiB}\n`,
      "sys/fs/cgroup/memory/slurm/uid_1000/job_12/memory.usage_in_bytes": `${3 * GiB}\n`,
      "sys/fs/cgroup/memory/slurm/uid_1000/job_12/memory.stat":
        `cache 7\ninactive_file 1\ntotal_inactive_file ${GiB}\ntotal_active_file 0\n`,
      "sys/fs/cgroup/cpu/slurm/uid_1000/job_12/cpu.cfs_quota_us": "250000\n",
      "sys/fs/cgroup/cpu/slurm/uid_1000/job_12/cpu.cfs_period_us": "100000\n",
    },
    limits: { affinity: 4, quota: 2.5, memory: { limit: 8 * GiB, used: 2 * GiB } },
  },
  {
    what: "a container: the path is the host's, the limits stand at the top",
    files: {
      "proc/self/cgroup": "0::/../../kubepods/pod1/abc\n",
      "proc/self/status": "Cpus_allowed_list:\t0-63\n",
      "sys/fs/cgroup/cpu.max": "50000 100000\n",
      "sys/fs/cgroup/memory.max": "1000\n",
      "sys/fs/cgroup/memory.current": "1500\n",
    },
    limits: { affinity: 64, quota: 0.5, memory: { limit: 1000, used: 1500 } },
  },
  {
    what: "both versions at once: version 2 has a folder of its own",
    files: {
      "proc/self/cgroup": "5:memory:/a\n0::/b\n",
      "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "900\n",
      "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "100\n",
      "sys/fs/cgroup/unified/b/memory.max": "5000\n",
      "sys/fs/cgroup/unified/b/memory.current": "4900\n",
    },
    limits: { affinity: null, quota: null, memory: { limit: 5000, used: 4900 } },
  },
  {
    what: "no limits at all",
    files: {
      "proc/self/cgroup": "4:memory:/\n0::/\n",
      "proc/self/status": "Cpus_allowed_list:\t0-1\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": V1_NONE,
      "sys/fs/cgroup/memory/memory.usage_in_bytes": "100\n",
    },
    limits: { affinity: 2, quota: null, memory: null },
  },
  { what: "no Linux", files: {}, limits: { affinity: null, quota: null, memory: null } },
];

for (const { what, files, limits } of TREES) {
  test.inFolder(`limits of the kernel: ${what}`, async (root) => {
    await writeFiles(root, files);
    assert.deepEqual(kernelLimits(root), limits);
  });
}

Deno.test("cores are the minimum of machine, affinity mask and quota, and at least 1", () => {
  const cores = (affinity: number | null, quota: number | null) =>
    grantedCores({ affinity, quota, memory: null }, 64);
  assert.equal(cores(null, null), 64);
  assert.equal(cores(8, null), 8);
  assert.equal(cores(8, 2.4), 2);
  assert.equal(cores(8, 2.5), 3);
  assert.equal(cores(8, 0.5), 1);
  assert.equal(cores(128, 100), 64);
});

const hasTaskset = await new Deno.Command("taskset", { args: ["--version"], stdout: "null" })
  .output().then(({ success }) => success, () => false);

Deno.test({
  name: "a narrowed affinity mask is respected",
  ignore: needs(hasTaskset, NEEDED.system),
  async fn() {
    const code = `import { grantedCores } from ${
      JSON.stringify(new URL("./cgroup.ts", import.meta.url).href)
    };\nconsole.log(grantedCores());`;
    const { stdout } = await new Deno.Command("taskset", {
      args: ["-c", "0", Deno.execPath(), "eval", code],
    }).output();
    assert.equal(new TextDecoder().decode(stdout).trim(), "1");
  },
});
