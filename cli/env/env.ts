/**
 * `rgx env`: an environment's file tried by itself (`check`), played by a person (`play`), and
 * begun (`new`). It runs as it does in training: in a process of its own, without permissions.
 */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { exists } from "../../core/paths.ts";
import { whyNotJson } from "../../core/text_file.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import type {
  Environment,
  EnvironmentCall,
  EnvironmentParts,
  Outcome,
  Reply,
  State,
} from "../../rewards/environments/environment.ts";
import { nextMessage, stdinLines } from "../chat/line_source.ts";
import type { Flags } from "../flags.ts";
import type { ENV_CHECK, ENV_NEW, ENV_PLAY } from "../flag_tables.ts";
import { print } from "../terminal/terminal.ts";
import { whichEnvironment } from "./which_environment.ts";
import pythonText from "./new/environment.py.txt" with { type: "text" };
import environmentText from "./new/environment.ts.txt" with { type: "text" };
import toolsText from "./new/tools.ts.txt" with { type: "text" };

/** Seconds for one call. */
const TIMEOUT = 30;
/** Messages of the model in each dialogue of a check. */
const TURNS = 3;

/** Tries an environment. Returns the exit code: 1 when a call fails or gives different answers. */
export async function checkEnvironment(
  path: string,
  options: Flags<typeof ENV_CHECK>,
): Promise<number> {
  const environment = await whichEnvironment(path, options.name), faults: string[] = [];
  try {
    const parts = await environment.open(), { starts } = options;
    const row = readObject(options.row, "--row");
    const begin = performance.now();
    const first = await playAll(environment, parts, row, starts);
    const seconds = (performance.now() - begin) / 1000;
    const again = await playAll(environment, parts, row, starts);
    for (const [seed, { error, text }] of first.dialogues.entries()) {
      if (error !== null) faults.push(`seed ${seed}: ${error}`);
      else if (again.dialogues[seed]!.text !== text) {
        faults.push(`seed ${seed}: another dialogue when it is played again`);
      }
    }
    const milliseconds = seconds * 1000 / first.calls;
    const tools = parts.tools.map(({ name, parameters }) =>
      `${name}(${Object.keys(parameters["properties"] ?? {}).join(", ")})`
    );
    const starting = new Set(first.dialogues.map(({ start }) => start)).size;
    if (options.json) {
      print(JSON.stringify({
        step: parts.step,
        reward: parts.reward,
        tools: parts.tools,
        starts,
        different_starts: starting,
        milliseconds_per_call: milliseconds,
        faults,
      }));
    } else {
      const has = [...parts.step ? ["step"] : [], ...parts.reward ? ["reward"] : [], ...tools];
      print(`${path}: ${has.join(", ")}`);
      print(
        `${starts} starts, ${starting} of them different; ${milliseconds.toFixed(2)} ms a call`,
      );
      for (const fault of faults.slice(0, 10)) print(`fault: ${fault}`);
      if (faults.length > 10) print(`… and ${faults.length - 10} more`);
      if (faults.length === 0) print("the same seed gives the same dialogue");
    }
    return faults.length > 0 ? EXIT.failure : EXIT.ok;
  } finally {
    await environment.close();
  }
}

/** A dialogue of a check: how it began, all that was said, and what failed. */
interface Tried {
  start: string;
  text: string;
  error: string | null;
}

/** Plays a dialogue for each seed from 0 on, all at once, with simple messages of the model. */
async function playAll(
  environment: Environment,
  parts: EnvironmentParts,
  row: State,
  starts: number,
): Promise<{ dialogues: Tried[]; calls: number }> {
  const resets = Array.from(
    { length: starts },
    (_, seed): EnvironmentCall => ({ call: "reset", row, seed, example: seed }),
  );
  let calls = 0;
  const ask = async (asked: EnvironmentCall[]) => {
    calls += asked.length;
    return await environment.answer(asked, TIMEOUT);
  };
  const states: (State | null)[] = [];
  const dialogues = (await ask(resets)).map((outcome, i): Tried => {
    states[i] = "error" in outcome ? null : outcome.state;
    const start = textOf(outcome, environment);
    return { start, text: start, error: "error" in outcome ? outcome.error : null };
  });
  const each = async (callOf: (state: State, i: number) => EnvironmentCall, ends: boolean) => {
    const going = states.flatMap((state, i) => state === null ? [] : [i]);
    const outcomes = await ask(going.map((i) => callOf(states[i]!, i)));
    for (const [k, i] of going.entries()) {
      const outcome = outcomes[k]!, dialogue = dialogues[i]!;
      dialogue.text += `\n${textOf(outcome, environment)}`;
      if ("error" in outcome) {
        dialogue.error = outcome.error;
        states[i] = null;
      } else states[i] = ends && outcome.done ? null : outcome.state;
    }
  };
  for (let turn = 0; parts.step && turn < TURNS; turn++) {
    const content = (i: number) => turn === 0 ? "?" : String(i + turn);
    await each((state, i) => ({
      call: "step",
      message: { role: "assistant", content: content(i) },
      state,
    }), true);
  }
  if (parts.reward) await each((state) => ({ call: "reward", state }), false);
  return { dialogues, calls };
}

/** An outcome as a text that tells it from others. The state of a session is what was asked. */
function textOf(outcome: Outcome, { stateAfter }: Environment): string {
  if ("error" in outcome) return outcome.error;
  const { content, reward, done, metrics, state } = outcome;
  const shown = { content, reward, done, metrics };
  return JSON.stringify(stateAfter === undefined ? { ...shown, state } : shown);
}

/** A person plays: each line is a message, and `/TOOL {…}` calls a tool. */
export async function playEnvironment(
  path: string,
  options: Flags<typeof ENV_PLAY>,
): Promise<void> {
  const environment = await whichEnvironment(path, options.name);
  try {
    const parts = await environment.open(), row = readObject(options.row, "--row");
    const { seed } = options;
    const replyIn = (outcome: Outcome): Reply => {
      if ("error" in outcome) throw new UsageError(`${path}: ${outcome.error}`);
      return outcome;
    };
    const ask = async (call: EnvironmentCall) =>
      replyIn((await environment.answer([call], TIMEOUT))[0]!);
    let { state, content } = await ask({ call: "reset", row, seed, example: seed });
    let total = 0;
    for (const { name, description } of parts.tools) print(`/${name} {…}  ${description}`);
    if (content !== "") print(content);
    const lines = stdinLines();
    for (let done = false; !done;) {
      const typed = await nextMessage(lines, "> ");
      if (typed === "end" || typed === "interrupt") break;
      const call = callOf(typed.line, parts, state, path);
      if (typeof call === "string") {
        print(call);
        continue;
      }
      const [outcome] = await environment.answer([call], TIMEOUT);
      if ("error" in outcome! && call.call === "run") {
        print(outcome.error);
        state = outcome.state ?? state;
        continue;
      }
      const reply = replyIn(outcome!);
      ({ state, content, done } = reply);
      total += reply.reward ?? 0;
      if (content !== "") print(content);
      if (reply.reward !== null) print(`reward ${reply.reward}`);
    }
    if (parts.reward) total += (await ask({ call: "reward", state })).reward ?? 0;
    print(`reward in all ${total}`);
  } finally {
    await environment.close();
  }
}

/** The call that a line means, or what is wrong with it. */
function callOf(
  line: string,
  parts: EnvironmentParts,
  state: State,
  path: string,
): EnvironmentCall | string {
  const [, tool, written] = /^\/([\w-]+)\s*(.*)$/s.exec(line) ?? [];
  if (tool === undefined) {
    if (parts.step) {
      return { call: "step", message: { role: "assistant", content: line }, state };
    }
    return `${path} has no step: call a tool, such as /${parts.tools[0]!.name} {}`;
  }
  if (!parts.tools.some(({ name }) => name === tool)) return `there is no tool ${tool}`;
  try {
    const args = written!.trim() === "" ? {} : readObject(written, tool);
    return { call: "run", tool, args, state };
  } catch (error) {
    return (error as Error).message;
  }
}

/** @throws UsageError for what is no JSON object */
function readObject(text: string | undefined, what: string): State {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${what}: not JSON: ${whyNotJson(error)}`);
  }
  if (isRecord(value)) return value;
  throw new UsageError(`${what}: expected a JSON object, found ${text}`);
}

/** Writes the file of a new environment, or of tools. */
export async function newEnvironment(
  path: string,
  { tools, python }: Flags<typeof ENV_NEW>,
): Promise<void> {
  if (tools && python) throw new UsageError("--tools and --python: one of the two");
  if (python ? !path.endsWith(".py") : !isCodePath(path)) {
    const ending = python ? ".py" : ".ts";
    throw new UsageError(`${path}: expected the name of a file ending in ${ending}`, {
      ...(path.endsWith(".py") && { advice: "Give --python for one in Python." }),
    });
  }
  if (await exists(path)) {
    throw new UsageError(`${path}: it is there already`, { advice: "Give another name." });
  }
  await writeFileAtomic(path, tools ? toolsText : python ? pythonText : environmentText);
  const key = tools
    ? `tools: [${path}]`
    : `environment: ${python ? `{command: [python3, ${path}]}` : path}`;
  print(`${path} was written\ntry it: rgx env check ${path}\nin a configuration: ${key}`);
}
