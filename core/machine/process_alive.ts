/**
 * Whether a process of this machine is still running. This is how temporary files and locks of dead
 * processes are recognized.
 */
import process from "node:process";

/**
 * Whether a process with this id runs on this machine, of any user. A zombie does not count: it has
 * ended, but its parent has not asked for its exit code yet. In a container it may stay for ever.
 */
export function processIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, but belongs to somebody else.
    if ((error as { code?: string }).code !== "EPERM") return false;
  }
  const state = statFields(pid)?.[0];
  return state !== "Z" && state !== "X";
}

/** What Linux says of a process from its state on (proc_pid_stat(5)); null when unknown. */
function statFields(pid: number): string[] | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The second field is the command in parentheses, and may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

/** When a process began, in the kernel's ticks; a later one with its id differs. Null = unknown. */
export function processStartTicks(pid: number): string | null {
  return statFields(pid)?.[19] ?? null;
}

/** The boot id and namespace within which process ids can be compared; null = unknown. */
export function processSpace(): string | null {
  try {
    const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
    return `${boot} ${Deno.readLinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
