/**
 * The process of a user's reward, seen from the program. It is started with the permissions that
 * its host needs and no others, exchanges lines of JSON, and can be ended by force. A checkout
 * starts `host.ts`; the executable starts itself again.
 */
import { fileURLToPath } from "node:url";
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import {
  fromLine,
  type FromReward,
  HOST_COMMAND,
  MEMORY_EXIT,
  MEMORY_LIMIT,
  type ToWorker,
} from "./protocol.ts";

/** Called with messages. @param ended why no message will follow these, or null */
export type Listener = (messages: FromReward[], ended: string | null) => void;

export class RewardProcess {
  readonly #child: Deno.ChildProcess;
  readonly #input: LineWriter;
  readonly #done: Promise<void>;
  #listener: Listener | null = null;
  #ended: string | null = null;

  /**
   * @param net hosts that the reward may connect to
   * @throws Error when no process can be started
   */
  constructor(net: readonly string[]) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: Deno.build.standalone ? [HOST_COMMAND, ...net] : checkoutArguments(net),
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = new LineWriter(this.#child.stdin, () => {});
    this.#done = this.#listen();
  }

  /** Why the process has ended, or null while it runs. */
  get ended(): string | null {
    return this.#ended;
  }

  /** Calls `listener` for all further messages; null: nobody is called. */
  listen(listener: Listener | null): void {
    this.#listener = listener;
  }

  send(message: ToWorker): void {
    this.#input.write(JSON.stringify(message));
  }

  /** Ends the process, however busy it is; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#listener = null;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has already ended.
    }
    await this.#done;
  }

  async #listen(): Promise<void> {
    for await (const lines of readLines(this.#child.stdout)) {
      const messages = lines.flatMap(fromLine);
      const end = messages.find((message) => message.type === "ended");
      if (end !== undefined) this.#ended ??= end.message;
      this.#listener?.(messages, this.#ended);
    }
    const { code, signal } = await this.#child.status;
    this.#ended ??= code === MEMORY_EXIT
      ? `took more than ${MEMORY_LIMIT / 2 ** 20} MiB of memory, its process was ended`
      : `its process ended (${signal ?? `exit code ${code}`})`;
    this.#listener?.([], this.#ended);
    await this.#input.close();
  }
}

/**
 * The host may read its own program and connect where the reward may. It gets no further
 * permissions and no V8 flags.
 */
function checkoutArguments(net: readonly string[]): string[] {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const read = ["../", "../../core/"].map((folder) => here(folder).replaceAll(",", ",,"));
  return [
    "run",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--no-npm",
    "--no-remote",
    "--unstable-worker-options",
    `--allow-read=${read.join(",")}`,
    ...(net.length === 0 ? [] : [`--allow-net=${net.join(",")}`]),
    here("./host.ts"),
    ...net,
  ];
}
