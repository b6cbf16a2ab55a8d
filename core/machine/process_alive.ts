/**
 * Whether a process of this machine is still running. This is how temporary files and locks of dead
 * processes are recognized.
 */
import process from "node:process";

/** Whether a process with this id exists on this machine, of any user. */
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
 * The start time of a process in the kernel's clock ticks, or null when unknown. It distinguishes a
 * process from a later one with the same id.
 */
export function processStartTicks(pid: number): string | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The second field is the command in parentheses, and may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * The space of process ids: the boot id of the machine and the process namespace; null when
 * unknown. Ids of two processes can be compared if their spaces are equal.
 */
export function processSpace(): string | null {
  try {
    const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
    return `${boot} ${Deno.readLinkSync("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}
