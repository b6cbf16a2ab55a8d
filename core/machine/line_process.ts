/**
 * A program in any language that exchanges lines of text with this one: it reads lines from its
 * stdin and writes lines to its stdout. Its stderr is free; the end of it stands in the message
 * when it has failed. The program has the permissions of the user who starts it.
 */
import { messageOf, UsageError } from "../errors.ts";
import { LineWriter, readLines } from "../line_pipe.ts";
import { atMost, runningTimeout } from "./running_time.ts";

/** Longest line of a program, in characters. */
const LONGEST_LINE = 2 ** 24;
const STDERR_KEPT = 2000;
/** Milliseconds in which a program may end by itself when its stdin is closed. */
const GRACE_MS = 500;
/** Milliseconds for what a program that has ended wrote last. */
const REST_MS = 200;

/** Called for lines. @param ended why no line will follow these, or null */
export type LineListener = (lines: readonly string[], ended: string | null) => void;

export class LineProcess {
  readonly #child: Deno.ChildProcess;
  readonly #input: LineWriter;
  readonly #done: Promise<void>;
  #ended: string | null = null;
  #exitCode: number | null = null;
  #stderr = "";

  /**
   * @param command is not run by a shell
   * @param isHost whether it runs a user's code: it writes to our stderr, lines of any length, and
   *   what is no UTF-8 does not end it
   * @param env variables beside those of this process
   * @throws UsageError when it cannot be started
   */
  constructor(
    command: readonly string[],
    private readonly listener: LineListener,
    private readonly isHost = false,
    env: Readonly<Record<string, string>> = {},
  ) {
    const [program, ...args] = command, stderr = isHost ? "inherit" : "piped";
    try {
      const options = { args, env, stdin: "piped", stdout: "piped", stderr } as const;
      this.#child = new Deno.Command(program!, options).spawn();
    } catch (error) {
      const why = error instanceof Deno.errors.NotFound ? "no such program" : messageOf(error);
      // The arguments of a host hold its code.
      const shown = isHost ? program : `${command.join(" ")}: ${program}`;
      throw new UsageError(`${shown} cannot be started: ${why}`, { cause: error });
    }
    this.#input = new LineWriter(this.#child.stdin, () => {});
    this.#done = this.#listen();
  }

  /** Why it has ended, with the end of its stderr; null while it runs. */
  get ended(): string | null {
    return this.#ended;
  }

  /** Null while it runs, or where a signal has ended it. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** @param line without line breaks */
  send(line: string): void {
    this.#input.write(line);
  }

  /** Closes its stdin after what was sent. */
  endInput(): void {
    void this.#input.close();
  }

  /** Ends it, at once or when it had time to end by itself; resolves when it is gone. */
  async close({ atOnce = false } = {}): Promise<void> {
    this.#ended ??= "it was ended";
    if (!atOnce) {
      void this.#input.close();
      await atMost(GRACE_MS, this.#child.status);
    }
    this.#kill();
    await this.#done;
  }

  #kill(): void {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
  }

  async #listen(): Promise<void> {
    const { stdout, status } = this.#child, lines = this.#read(stdout);
    const errors = this.isHost ? null : this.#keepErrors(this.#child.stderr).catch(() => {});
    const { code, signal } = await status;
    this.#exitCode = signal === null ? code : null;
    // A child of the program may hold its pipes for longer. While this process is busy, it reads
    // nothing, so that this time does not count.
    await atMost(REST_MS, Promise.all([lines, errors]), runningTimeout);
    this.#end(`its process ended (${signal ?? `exit code ${code}`})`);
    await this.#input.close();
  }

  async #read(stdout: ReadableStream<Uint8Array>): Promise<void> {
    try {
      const rules = this.isHost ? {} : { longest: LONGEST_LINE, fatal: true, rest: true };
      for await (const lines of readLines(stdout, rules)) {
        if (this.#ended === null) this.listener(lines, null);
      }
    } catch (error) {
      const what = error instanceof RangeError ? error.message : "bytes that are no UTF-8";
      this.#end(`it wrote ${what} to its stdout, and was ended`);
      this.#kill();
    }
  }

  async #keepErrors(stderr: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stderr) {
      this.#stderr = (this.#stderr + decoder.decode(bytes, { stream: true })).slice(-STDERR_KEPT);
    }
  }

  #end(why: string): void {
    if (this.#ended !== null) return;
    const said = this.#stderr.trim();
    this.#ended = said === "" ? why : `${why}: ${said}`;
    this.listener([], this.#ended);
  }
}
