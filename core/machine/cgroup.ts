/**
 * The limits that the Linux kernel sets for this process: cores by its affinity mask and by the
 * quotas of its cgroups, memory by the limits of its cgroups. Versions 1 and 2 of cgroups are
 * supported, also both together. A limit can be set at any level, so all levels from the process's
 * cgroup up to the root are read. Tests read the files below `root` instead of /.
 */

/** A larger number means "no limit": version 1 reports about 2^63 then. */
const NO_LIMIT = 2 ** 60;

/** The limit of a cgroup and its use, in bytes. */
export interface CgroupMemory {
  limit: number;
  /** The memory in use, without file pages: the kernel frees these before it kills a process. */
  used: number;
}

export interface KernelLimits {
  /** Number of CPUs in the affinity mask, which a cpuset narrows; null when unknown. */
  affinity: number | null;
  /** The smallest quota of CPU time in CPUs, for example 1.5; null without a quota. */
  quota: number | null;
  /** The limit with the fewest bytes left; null without a limit. */
  memory: CgroupMemory | null;
}

/** Reads the limits; all are null when the system is not Linux. */
export function kernelLimits(root = ""): KernelLimits {
  const limits: KernelLimits = {
    affinity: allowedCpus(root)?.length ?? null,
    quota: null,
    memory: null,
  };
  for (const line of (read(`${root}/proc/self/cgroup`) ?? "").split("\n")) {
    const [, controllers, path] = /^[0-9]+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const { folder, version } of hierarchies(root, controllers)) {
      for (const level of levels(folder, path)) {
        limits.quota = minOrNull(limits.quota, version === 2 ? quota2(level) : quota1(level));
        const memory = memoryOf(level, version);
        if (memory !== null && (limits.memory === null || room(memory) < room(limits.memory))) {
          limits.memory = memory;
        }
      }
    }
  }
  return limits;
}

export function room({ limit, used }: CgroupMemory): number {
  return Math.max(0, limit - used);
}

/**
 * Number of CPUs that this process may use, at least 1. A quota is rounded: with 1.5 CPUs two
 * threads are faster than one, although Linux stops both for a while; with 1.2 CPUs one is faster.
 * @param machine CPUs of the machine
 */
export function grantedCores(
  limits: KernelLimits = kernelLimits(),
  machine: number = navigator.hardwareConcurrency,
): number {
  const { affinity, quota } = limits;
  return Math.max(1, Math.round(Math.min(machine, affinity ?? machine, quota ?? machine)));
}

/** The folders in which the path of a line of /proc/self/cgroup may be. */
function hierarchies(root: string, controllers: string): { folder: string; version: 1 | 2 }[] {
  const mount = `${root}/sys/fs/cgroup`;
  if (controllers === "") {
    // When version 1 is mounted too, version 2 is in a separate folder.
    return [{ folder: mount, version: 2 }, { folder: `${mount}/unified`, version: 2 }];
  }
  return controllers.split(",")
    .filter((name) => name === "cpu" || name === "memory")
    .map((name) => ({ folder: `${mount}/${name}`, version: 1 }));
}

/**
 * The folder of a process's cgroup and all folders above it. In a container the path may be that of
 * the host and not exist here; then the top folder is the container's cgroup.
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
  const quota = readNumber(`${level}/cpu.cfs_quota_us`),
    period = readNumber(`${level}/cpu.cfs_period_us`);
  return quota !== null && quota > 0 && period !== null && period > 0 ? quota / period : null;
}

/** Files of a version of cgroups: the limit, the use, and what names in memory.stat begin with. */
const MEMORY_FILES = {
  1: ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_"],
  2: ["memory.max", "memory.current", ""],
} as const;

function memoryOf(level: string, version: 1 | 2): CgroupMemory | null {
  const [limitFile, usedFile, prefix] = MEMORY_FILES[version];
  const limit = readNumber(`${level}/${limitFile}`), used = readNumber(`${level}/${usedFile}`);
  if (limit === null || used === null || limit >= NO_LIMIT) return null;
  return { limit, used: Math.max(0, used - filePages(level, prefix)) };
}

/** Bytes of the page cache. It counts as used memory, but the kernel can free it. */
function filePages(level: string, prefix: string): number {
  const stat = read(`${level}/memory.stat`) ?? "";
  return ["active_file", "inactive_file"].reduce((sum, name) => {
    const found = new RegExp(`^${prefix}${name} ([0-9]+)$`, "m").exec(stat);
    return sum + Number(found?.[1] ?? 0);
  }, 0);
}

/** The CPUs that this process may use; null when they are not known. */
export function allowedCpus(root = ""): number[] | null {
  const status = read(`${root}/proc/self/status`) ?? "";
  const list = /^Cpus_allowed_list:\s*([0-9,-]+)$/m.exec(status)?.[1];
  // For example "0-3,8,10-11".
  return list?.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, i) => first! + i);
  }) ?? null;
}

function minOrNull(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function read(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null; // another version of cgroups, or not Linux
  }
}

function readNumber(path: string): number | null {
  const text = read(path)?.trim();
  return text !== undefined && /^-?[0-9]+$/.test(text) ? Number(text) : null; // "max" = no limit
}
