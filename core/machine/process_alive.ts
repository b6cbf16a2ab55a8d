/**
 * Is a process of this machine still running? Leftovers of dead processes (temporary files, locks) are
 * told from those of living ones by it.
 */
import process from "node:process";

/** True when a process with this id exists on this machine, whoever owns it. */
export function processIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists, but belongs to somebody else.
    return (error as { code?: string }).code === "EPERM";
  }
}

/**
 * When the process started, in the kernel's own ticks, or null where that cannot be known. Together with
 * the id it tells a process from a later one that was given the same id.
 */
export function processStartTicks(pid: number): string | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The second field is the command in parentheses and may itself hold spaces and parentheses.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * What process ids count in: this start of this machine and this process's namespace, or null where that cannot be
 * known. Ids of two processes can be compared where it is the same.
 */
export function processSpace(): string | null {
  try {
    const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
    return `${boot} ${Deno.readLinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
