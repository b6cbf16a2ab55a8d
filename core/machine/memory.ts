/**
 * How much memory this process may still use: the least of what the machine has free, what its cgroup (a
 * container, a job) still allows, and what SLURM gave the job, which many sites enforce by looking at processes
 * and not by cgroups.
 */
import { kernelLimits, room } from "./cgroup.ts";
import { slurmJob } from "./job.ts";

export interface MemoryRoom {
  /** Bytes that can still be allocated. */
  bytes: number;
  /** What limits it. */
  by: "machine" | "cgroup" | "job";
}

export interface MemorySources {
  /** Bytes that the machine has free. */
  machine: number;
  /** Bytes that the cgroup has left; null without a limit. */
  cgroup: number | null;
  /** Bytes that SLURM gave the job on this node; null where it does not say. */
  job: number | null;
  /** Bytes that this process holds. */
  held: number;
}

export function memoryRoom(sources: MemorySources = memorySources()): MemoryRoom {
  const { machine, cgroup, job, held } = sources;
  const rooms: MemoryRoom[] = [{ bytes: machine, by: "machine" }];
  if (cgroup !== null) rooms.push({ bytes: cgroup, by: "cgroup" });
  if (job !== null) rooms.push({ bytes: Math.max(0, job - held), by: "job" });
  return rooms.reduce((least, other) => other.bytes < least.bytes ? other : least);
}

function memorySources(): MemorySources {
  const { memory } = kernelLimits();
  return {
    machine: Deno.systemMemoryInfo().available,
    cgroup: memory === null ? null : room(memory),
    job: slurmJob()?.memory ?? null,
    held: Deno.memoryUsage().rss,
  };
}

/** Bytes that can still be allocated. */
export function availableBytes(): Promise<number> {
  return Promise.resolve(memoryRoom().bytes);
}
