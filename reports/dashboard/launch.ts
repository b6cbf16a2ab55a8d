/**
 * Runs that a person starts from the page: what can be set, the plan, start, stop and resume. Each
 * is a process of this program with the words of its command line, so plans and errors are those of
 * the terminal. Only `rgx dashboard --allow-runs` offers it.
 */
import { experimentNames } from "../../configs/documents/embedded.ts";
import { loadConfig } from "../../configs/load.ts";
import { KEYS } from "../../configs/reading/key_names.ts";
import { REQUIRED } from "../../configs/types/key_spec.ts";
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { holderHere, LOCK_FILE } from "../../core/lock.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import { atMost } from "../../core/machine/running_time.ts";
import { programCommand } from "../../core/program_command.ts";
import { readPlain } from "./reading/plain_file.ts";

/** What the page asks for. */
export interface LaunchRequest {
  recipe: string;
  /** Folder of the run below the dashboard's first folder. */
  name: string;
  /** Values as in a YAML file, by dotted keys. */
  keys: Readonly<Record<string, string>>;
}

/** The answer of a process: its messages, and whether it did what was asked. */
export interface Said {
  isOk: boolean;
  text: string;
}

export type LaunchForm = Awaited<ReturnType<Launcher["form"]>>;

/** The most characters of a process's messages that are kept. */
const MAX_SAID = 20_000;
/** How long a start may take until it is called a start, in milliseconds. */
const START_MS = 4000;
const ENV = { NO_COLOR: "1" };
const NAME = /^\w[\w.-]{0,80}$/;

export class Launcher {
  /** @param folder where new runs get their folders @param ending ends what it has asked for */
  constructor(private readonly folder: string, private readonly ending: AbortSignal) {}

  /** The recipes, and all keys with their values in one of them. */
  async form(recipe: string) {
    const recipes = experimentNames(), chosen = recipes.includes(recipe) ? recipe : "quickstart";
    const loaded = await loadConfig(chosen, { overrides: [], env: Deno.env.toObject() });
    const keys = [...KEYS].map(([key, { type, doc, default: usual }]) => {
      const found = key.split(".").reduce<unknown>(
        (value, part) => isRecord(value) ? value[part] : undefined,
        loaded.config,
      );
      return {
        key,
        /** What kind of value is expected, and all values if there are few. */
        expected: type.expected,
        values: [...type.values ?? []],
        meaning: doc,
        /** The default, and the value in the recipe. */
        usual: usual === REQUIRED
          ? "required"
          : yamlText(typeof usual === "function" ? null : usual),
        value: yamlText(found ?? null),
      };
    });
    return { recipes, recipe: chosen, keys };
  }

  /** What the run would do, or what is wrong with it. */
  async plan(request: LaunchRequest): Promise<Said> {
    const command = [...programCommand(), ...this.#words(request), "--dry-run"];
    const ended = await runCommand(command, { env: ENV, signal: this.ending });
    return { isOk: ended?.success ?? false, text: ended?.err.slice(-MAX_SAID) ?? "" };
  }

  /** Starts a run; its process goes on when the dashboard ends. */
  start(request: LaunchRequest): Promise<Said> {
    return begin(this.#words(request));
  }

  resume(folder: string): Promise<Said> {
    return begin(["train", folder, "--resume"]);
  }

  /** Asks the process of a run to save and to end. @throws UsageError where there is none here */
  async stop(folder: string): Promise<Said> {
    const lock = await readPlain(`${folder}/${LOCK_FILE}`).catch(() => null);
    const pid = holderHere(lock ?? "");
    if (pid === null) {
      throw new UsageError(`${folder}: no process of this machine is training there`, {
        advice: "A run on another machine is stopped there, or by its scheduler.",
      });
    }
    Deno.kill(pid, "SIGTERM");
    return { isOk: true, text: "It saves a checkpoint and ends." };
  }

  #words({ recipe, name, keys }: LaunchRequest): string[] {
    if (!experimentNames().includes(recipe)) throw new UsageError(`there is no recipe "${recipe}"`);
    if (!NAME.test(name)) {
      throw new UsageError(
        `"${name}": expected a name of letters, digits, "_", "-" and ".", found another one`,
      );
    }
    const wrong = Object.keys(keys).find((key) => !KEYS.has(key));
    if (wrong !== undefined) throw new UsageError(`there is no key "${wrong}"`);
    const overrides = Object.entries(keys).map(([key, value]) => `${key}=${value}`);
    return ["train", recipe, ...overrides, "--output-dir", `${this.folder}/${name}`];
  }
}

const yamlText = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value);

/** Starts a command that goes on; what it says in its first moments is told. */
async function begin(words: readonly string[]): Promise<Said> {
  const [program, ...args] = [...programCommand(), ...words];
  const options = { env: ENV, stdout: "null", stderr: "piped", detached: true } as const;
  const child = new Deno.Command(program!, { args, ...options }).spawn();
  const decoder = new TextDecoder();
  let text = "", code: number | null = null;
  const reading = (async () => {
    // Its messages are read to the end, so that it never waits for a reader.
    for await (const bytes of child.stderr) {
      text = (text + decoder.decode(bytes, { stream: true })).slice(-MAX_SAID);
    }
    ({ code } = await child.status);
  })();
  child.unref();
  await atMost(START_MS, reading);
  return { isOk: code === null || code === 0, text: code === null ? "It has started." : text };
}
