/**
 * Groups of processes among which Linux divides the processor (cgroups), for `deno task
 * bench:steady`. They are made below the group of this process, which takes the right to do so:
 * root, or a delegated group. Version 1 and 2 are tried.
 */

export interface Cgroup {
  /** The command that runs `command` within the group. */
  within(command: Command): Command;
  /** Removes the group; all of its processes must have ended. */
  remove(): Promise<void>;
}

export type Command = [string, ...string[]];

const PERIOD_US = 100_000;

/** A group could not be made. */
export class NoCgroup extends Error {
  override name = "NoCgroup";
}

/**
 * Makes a group.
 * @param cpus its quota of processor time in CPUs; null without a quota
 * @throws NoCgroup
 */
export async function makeCgroup(name: string, cpus: number | null): Promise<Cgroup> {
  const own = await Deno.readTextFile("/proc/self/cgroup").catch(() => "");
  const quota = cpus === null ? -1 : Math.round(cpus * PERIOD_US);
  const ways = [
    {
      mount: "/sys/fs/cgroup/cpu",
      path: /^[0-9]+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$/m.exec(own)?.[1],
      limit: { file: "cpu.cfs_quota_us", text: `${quota}` },
    },
    {
      mount: "/sys/fs/cgroup",
      path: /^0::(.*)$/m.exec(own)?.[1],
      limit: { file: "cpu.max", text: `${quota < 0 ? "max" : quota} ${PERIOD_US}` },
    },
  ];
  const refused: string[] = [];
  for (const { mount, path, limit } of ways) {
    if (path === undefined) continue;
    const folder = `${mount}${path.replace(/\/$/, "")}/rgx-bench-${Deno.pid}-${name}`;
    const made = await Deno.mkdir(folder).then(() => true, ({ message }) => {
      refused.push(message);
      return false;
    });
    if (!made) continue;
    try {
      await Deno.writeTextFile(`${folder}/${limit.file}`, limit.text, { create: false });
      const move = `echo $$ > "$0/cgroup.procs" && exec "$@"`;
      return {
        within: (command) => ["sh", "-c", move, folder, ...command],
        remove: () => Deno.remove(folder),
      };
    } catch (error) {
      refused.push((error as Error).message);
      await Deno.remove(folder);
    }
  }
  throw new NoCgroup(refused.join("; ") || "this system has no cgroups");
}
