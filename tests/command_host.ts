/**
 * For tests of commands: a process that runs one `rgx` command after the other. Starting a process
 * for each command takes longer than most commands. `support.ts` starts it and talks to it.
 *
 *     deno run … command_host.ts SOCKET PARENT
 *
 * It ends when the process PARENT has ended. What processes of a command write to the error output
 * that they inherit is read from the file SOCKET.err, to which its own goes.
 */
import { writeAll } from "../core/atomic_file.ts";
import { processIsAlive } from "../core/machine/process_alive.ts";
import { runCli } from "../cli/program.ts";
import { taskNames } from "../tasks/registry.ts";

/** One command. The process has exactly these environment variables while the command runs. */
export interface HostRequest {
  args: readonly string[];
  input: string;
  env: Record<string, string>;
  cwd: string;
}

export interface HostAnswer {
  code: number;
  out: string;
  err: string;
}

/** Above this memory the host ends after its answer, and the next command starts another. */
const MAX_BYTES = 7e8;

/** An output stream that collects what is written. */
class Output {
  readonly #decoder = new TextDecoder();
  text = "";

  writeSync(bytes: Uint8Array): number {
    this.text += this.#decoder.decode(bytes, { stream: true });
    return bytes.length;
  }

  isTerminal = () => false;
}

/** An input stream that has a text. */
class Input {
  #left: Uint8Array;

  constructor(text: string) {
    this.#left = new TextEncoder().encode(text);
  }

  read(into: Uint8Array): Promise<number | null> {
    const part = this.#left.subarray(0, into.length);
    into.set(part);
    this.#left = this.#left.subarray(part.length);
    return Promise.resolve(part.length === 0 ? null : part.length);
  }

  get readable(): ReadableStream<Uint8Array> {
    return new Blob([this.#left.slice()]).stream();
  }

  isTerminal = () => false;
}

function replaceStreams(streams: Record<"stdin" | "stdout" | "stderr", unknown>): void {
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(Deno, name, { value, configurable: true });
  }
}

function setEnvironment(env: Record<string, string>): void {
  for (const name of Object.keys(Deno.env.toObject())) {
    if (!(name in env)) Deno.env.delete(name);
  }
  for (const [name, value] of Object.entries(env)) Deno.env.set(name, value);
}

/** @param errors the file to which the error output of this process goes */
async function run({ args, input, env, cwd }: HostRequest, errors: string): Promise<HostAnswer> {
  const stdin = new Input(input), stdout = new Output(), stderr = new Output();
  replaceStreams({ stdin, stdout, stderr });
  setEnvironment(env);
  Deno.chdir(cwd);
  await Deno.truncate(errors);
  const code = await runCli(args);
  Deno.chdir("/");
  return { code, out: stdout.text, err: stderr.text + await Deno.readTextFile(errors) };
}

/** A message as JSON, up to the end of what the other side sends. */
export async function receive<T>(connection: Deno.Conn): Promise<T> {
  const parts: Uint8Array[] = [], part = new Uint8Array(1 << 16);
  for (let n = await connection.read(part); n !== null; n = await connection.read(part)) {
    parts.push(part.slice(0, n));
  }
  return JSON.parse(await new Blob(parts as BlobPart[]).text());
}

/** Sends all that this side will send. */
export async function send(connection: Deno.Conn, message: unknown): Promise<void> {
  await writeAll(connection, new TextEncoder().encode(JSON.stringify(message)));
  await connection.closeWrite();
}

async function serve(socket: string, parent: number): Promise<void> {
  using listener = Deno.listen({ transport: "unix", path: socket });
  const errors = `${socket}.err`, tasks = taskNames().length;
  const leave = () => {
    for (const path of [socket, errors]) Deno.removeSync(path);
  };
  setInterval(() => {
    if (processIsAlive(parent)) return;
    leave();
    Deno.exit(0);
  }, 1000);
  for await (using connection of listener) {
    const answer = await run(await receive(connection), errors);
    // Tasks of files stay registered. The next command looks for a host after this answer.
    const isLast = Deno.memoryUsage().rss > MAX_BYTES || taskNames().length > tasks;
    if (isLast) leave();
    await send(connection, answer);
    if (isLast) Deno.exit(0);
  }
}

if (import.meta.main) await serve(Deno.args[0]!, Number(Deno.args[1]));
