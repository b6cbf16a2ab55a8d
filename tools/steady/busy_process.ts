/** A busy process (busy.ts), which is stopped most of the time. */
import type { Kind } from "./busy.ts";
import type { Command } from "./cgroup.ts";

const ROOT = new URL("../../", import.meta.url);

export class BusyProcess {
  private constructor(private readonly child: Deno.ChildProcess) {}

  static command(kind: Kind): Command {
    return [Deno.execPath(), "run", "-A", "tools/steady/busy.ts", kind];
  }

  /** Starts it, waits until it works, and stops it. */
  static async start([program, ...args]: Command): Promise<BusyProcess> {
    const options = { args, cwd: ROOT, stdin: "null", stdout: "piped" } as const;
    const busy = new BusyProcess(new Deno.Command(program, options).spawn());
    const reader = busy.child.stdout.getReader();
    const { done } = await reader.read();
    reader.releaseLock();
    if (done) throw new Error(`${program} ${args.join(" ")} ended`);
    busy.rest();
    return busy;
  }

  work(): void {
    this.child.kill("SIGCONT");
  }

  rest(): void {
    this.child.kill("SIGSTOP");
  }

  async end(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.stdout.cancel();
    await this.child.status;
  }
}
