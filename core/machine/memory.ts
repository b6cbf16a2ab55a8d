/**
 * How much memory this process can still allocate. It is the minimum of the machine's free memory,
 * the rest of the limit of its cgroup (a container or job), and the rest of the memory that SLURM
 * gave the job. Many sites enforce the limit of a job by watching its processes, without cgroups.
 */
import { kernelLimits, room } from "./cgroup.ts";
import { slurmJob } from "./job.ts";

export interface MemoryRoom {
  /** Bytes that can still be allocated. */
  bytes: number;
  by: "machine" | "cgroup" | "job";
}

export function memoryRoom(sources = memorySources()): MemoryRoom {
  const { machine, cgroup, job, held } = sources;
  const rooms: MemoryRoom[] = [{ bytes: machine, by: "machine" }];
  if (cgroup !== null) rooms.push({ bytes: cgroup, by: "cgroup" });
  if (job !== null) rooms.push({ bytes: Math.max(0, job - held), by: "job" });
  return rooms.reduce((min, other) => other.bytes < min.bytes ? other : min);
}

function memorySources() {
  const { memory } = kernelLimits();
  return {
    /** Bytes that the machine has free. */
    machine: Deno.systemMemoryInfo().available,
    /** Bytes that are left of the cgroup's limit; null without a limit. */
    cgroup: memory === null ? null : room(memory),
    /** Bytes that SLURM gave the job on this node; null = unknown. */
    job: slurmJob()?.memory ?? null,
    /** Bytes that this process uses. */
    held: Deno.memoryUsage().rss,
  };
}

/** Bytes that can still be allocated. */
export function availableBytes(): Promise<number> {
  return Promise.resolve(memoryRoom().bytes);
}
