/**
 * What the kernel grants this process on Linux: cores by the affinity mask and the quota of its cgroups, memory
 * by their limits; versions 1 and 2, and both at once. A limit may stand at any level, so every level from the
 * process's own up to the root is looked at. Files under `root` instead of / are read by tests.
 */

/** Version 1 writes the largest number of pages where nothing is limited. */
const NO_LIMIT = 2 ** 60;

/** Bytes that a cgroup allows and what counts against it. */
export interface CgroupMemory {
  limit: number;
  /** Without file pages: the kernel gives those up before it kills. */
  used: number;
}

export interface KernelLimits {
  /** Processors that the affinity mask allows (a cpuset narrows it); null where that is not known. */
  affinity: number | null;
  /** Processors' worth of time that the tightest quota allows, as 1.5; null without one. */
  quota: number | null;
  /** The level that leaves the least room; null without a limit. */
  memory: CgroupMemory | null;
}

/** What is limited; nulls where the machine is no Linux. */
export function kernelLimits(root = ""): KernelLimits {
  const limits: KernelLimits = { affinity: affinity(root), quota: null, memory: null };
  for (const line of (read(`${root}/proc/self/cgroup`) ?? "").split("\n")) {
    const [, controllers, path] = /^[0-9]+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const { folder, version } of hierarchies(root, controllers)) {
      for (const level of levels(folder, path)) {
        limits.quota = least(limits.quota, version === 2 ? quota2(level) : quota1(level));
        const memory = version === 2 ? memory2(level) : memory1(level);
        if (memory !== null && (limits.memory === null || room(memory) < room(limits.memory))) {
          limits.memory = memory;
        }
      }
    }
  }
  return limits;
}

/** Bytes that are left of a limit. */
export function room({ limit, used }: CgroupMemory): number {
  return Math.max(0, limit - used);
}

/** Processors that may be kept busy: at least 1. @param machine those of the machine */
export function grantedCores(
  limits: KernelLimits = kernelLimits(),
  machine: number = navigator.hardwareConcurrency,
): number {
  const { affinity, quota } = limits;
  return Math.max(1, Math.floor(Math.min(machine, affinity ?? machine, quota ?? machine)));
}

/** Where a line of /proc/self/cgroup is to be found. */
function hierarchies(root: string, controllers: string): { folder: string; version: 1 | 2 }[] {
  const mount = `${root}/sys/fs/cgroup`;
  if (controllers === "") {
    // Beside version 1, version 2 stands in a folder of its own.
    return [{ folder: mount, version: 2 }, { folder: `${mount}/unified`, version: 2 }];
  }
  return controllers.split(",")
    .filter((name) => name === "cpu" || name === "memory")
    .map((name) => ({ folder: `${mount}/${name}`, version: 1 }));
}

/**
 * A process's own folder and those above it. In a container the path may be the host's, of which nothing is
 * there: what it may see then stands at the top.
 */
function* levels(folder: string, path: string): Generator<string> {
  for (let at = path.replace(/\/+$/, ""); at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    yield folder + at;
  }
  yield folder;
}

function quota2(level: string): number | null {
  const [quota, period] = (read(`${level}/cpu.max`) ?? "").trim().split(" ").map(Number);
  return Number.isFinite(quota) && period! > 0 ? quota! / period! : null; // "max 100000": none
}

function quota1(level: string): number | null {
  const quota = number(`${level}/cpu.cfs_quota_us`), period = number(`${level}/cpu.cfs_period_us`);
  return quota !== null && quota > 0 && period !== null && period > 0 ? quota / period : null;
}

function memory2(level: string): CgroupMemory | null {
  const limit = number(`${level}/memory.max`), used = number(`${level}/memory.current`);
  if (limit === null || used === null) return null;
  return { limit, used: Math.max(0, used - filePages(level, "")) };
}

function memory1(level: string): CgroupMemory | null {
  const limit = number(`${level}/memory.limit_in_bytes`);
  const used = number(`${level}/memory.usage_in_bytes`);
  if (limit === null || used === null || limit >= NO_LIMIT) return null;
  return { limit, used: Math.max(0, used - filePages(level, "total_")) };
}

/** Pages that only mirror files: a model that was read from disk counts, and is no reason to refuse. */
function filePages(level: string, prefix: string): number {
  const stat = read(`${level}/memory.stat`) ?? "";
  return ["active_file", "inactive_file"].reduce((sum, name) => {
    const found = new RegExp(`^${prefix}${name} ([0-9]+)$`, "m").exec(stat);
    return sum + Number(found?.[1] ?? 0);
  }, 0);
}

/** Processors in a list such as "0-3,8,10-11". */
function affinity(root: string): number | null {
  const status = read(`${root}/proc/self/status`) ?? "";
  const list = /^Cpus_allowed_list:\s*([0-9,-]+)$/m.exec(status)?.[1];
  if (list === undefined) return null;
  return list.split(",").reduce((sum, part) => {
    const [first, last = first] = part.split("-").map(Number);
    return sum + last! - first! + 1;
  }, 0);
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function read(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null; // not this version of cgroups, or no Linux
  }
}

function number(path: string): number | null {
  const text = read(path)?.trim();
  return text !== undefined && /^-?[0-9]+$/.test(text) ? Number(text) : null; // "max" = no limit
}
