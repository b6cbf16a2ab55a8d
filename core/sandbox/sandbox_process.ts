/**
 * The process of a user's code, as the program sees it. The process gets only the permissions that
 * its host needs, exchanges lines of JSON, and can be ended by force. A checkout starts the host's
 * module; the executable starts itself again.
 */
import { fileURLToPath } from "node:url";
import { LineProcess } from "../machine/line_process.ts";
import { type Ended, MEMORY_EXIT, MEMORY_LIMIT } from "./limits.ts";

/** Called with messages. @param ended why no message will follow these, or null */
export type Listener<From> = (messages: (From | Ended)[], ended: string | null) => void;

export interface Host {
  /** The host's module in a checkout. It calls `hostWorker` with the arguments of the program. */
  module: URL;
  /** Folders whose modules host and Worker import. */
  reads: readonly URL[];
  /** The hidden command of the executable that runs the host. */
  command: string;
}

/** A program that is not rgx, and serves the same lines: its name or path, and its arguments. */
export interface ProgramHost {
  program: readonly [string, ...string[]];
}

/** `From` and `To` are the messages from and to the Worker, which can be written as JSON. */
export class SandboxProcess<From extends { type: string }, To> {
  readonly #process: LineProcess;
  #listener: Listener<From> | null = null;
  #ended: string | null = null;

  /** @param net hosts that the code may connect to. @throws UsageError when it cannot be started */
  constructor(host: Host | ProgramHost, net: readonly string[]) {
    const command = "program" in host
      ? host.program
      : [Deno.execPath(), ...hostArguments(host, net)];
    this.#process = new LineProcess(command, (lines, ended) => this.#take(lines, ended), true);
  }

  get ended(): string | null {
    return this.#ended ?? this.#process.ended;
  }

  /** Calls `listener` for all further messages; null: nobody is called. */
  listen(listener: Listener<From> | null): void {
    this.#listener = listener;
  }

  send(message: To): void {
    this.#process.send(JSON.stringify(message));
  }

  async kill(): Promise<void> {
    this.#listener = null;
    await this.#process.close({ atOnce: true });
  }

  #take(lines: readonly string[], ended: string | null): void {
    const messages = lines.flatMap((line) => fromLine<From | Ended>(line));
    const end = messages.find((message): message is Ended => message.type === "ended");
    const isFull = this.#process.exitCode === MEMORY_EXIT;
    this.#ended ??= end?.message ?? (isFull && ended !== null ? TOOK_TOO_MUCH : ended);
    this.#listener?.(messages, this.#ended);
  }
}

const TOOK_TOO_MUCH = `took more than ${
  MEMORY_LIMIT / 2 ** 20
} MiB of memory, its process was ended`;

function hostArguments(host: Host, net: readonly string[]): string[] {
  return Deno.build.standalone ? [host.command, ...net] : checkoutArguments(host, net);
}

/**
 * The host may read its own program and connect where the user's code may. It gets no further
 * permissions and no V8 flags. A package that was loaded from a server is in Deno's cache.
 */
function checkoutArguments({ module, reads }: Host, net: readonly string[]): string[] {
  const own = module.protocol === "file:"
    ? ["--no-remote", `--allow-read=${reads.map(escapedPath).join(",")}`]
    : [`--allow-import=${module.host}`];
  return [
    "run",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--no-npm",
    "--unstable-worker-options",
    ...own,
    ...(net.length === 0 ? [] : [`--allow-net=${net.join(",")}`]),
    module.protocol === "file:" ? fileURLToPath(module) : module.href,
    ...net,
  ];
}

/** A path for a list of paths in a flag of Deno. */
function escapedPath(folder: URL): string {
  return fileURLToPath(folder).replaceAll(",", ",,");
}

/** The messages of a line; none where it is no list, since a crashing process prints anything. */
function fromLine<Message>(line: string): Message[] {
  try {
    const messages = JSON.parse(line);
    return Array.isArray(messages) ? messages : [];
  } catch {
    return [];
  }
}
