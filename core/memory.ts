/**
 * How much memory this process may still use: the smaller of what the machine has free and what its
 * cgroup (a container, a SLURM job) still allows, versions 1 and 2.
 */

async function readNumber(path: string): Promise<number | null> {
  try {
    const value = Number((await Deno.readTextFile(path)).trim());
    return Number.isFinite(value) ? value : null; // "max" = no limit
  } catch {
    return null; // no such cgroup file on this machine
  }
}

/** Memory limits of the cgroups that /proc/self/cgroup names, innermost to outermost. */
async function cgroupRoom(): Promise<number> {
  let room = Infinity;
  let text: string;
  try {
    text = await Deno.readTextFile("/proc/self/cgroup");
  } catch {
    return room; // not Linux
  }
  for (const line of text.trim().split("\n")) {
    const [, controllers = "", path = "/"] = line.split(":");
    const v2 = controllers === "";
    if (!v2 && !controllers.split(",").includes("memory")) continue;
    const root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (let at = path;; at = at.slice(0, at.lastIndexOf("/"))) {
      const limit = await readNumber(
        `${root}${at}/${v2 ? "memory.max" : "memory.limit_in_bytes"}`,
      );
      const used = await readNumber(
        `${root}${at}/${v2 ? "memory.current" : "memory.usage_in_bytes"}`,
      );
      if (limit !== null && used !== null) room = Math.min(room, Math.max(0, limit - used));
      if (at === "" || at === "/") break;
    }
  }
  return room;
}

/** Bytes that can still be allocated. */
export async function availableBytes(): Promise<number> {
  return Math.min(Deno.systemMemoryInfo().available, await cgroupRoom());
}
