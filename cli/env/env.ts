/**
 * `rgx env`: an environment's file tried by itself (`check`), played by a person (`play`), begun
 * (`new`), and asked again what a transcript says (`replay`). It runs as it does in training: in a
 * process of its own, without permissions.
 */
import {
  differenceOf,
  type Exchange,
  exchangesOf,
  keyOf,
  placeText,
  TRANSCRIPT,
} from "../../bench/dialogue/transcript.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { counted } from "../../core/counted.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { exists } from "../../core/paths.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import type {
  Environment,
  EnvironmentCall,
  EnvironmentParts,
  Outcome,
  Reply,
  State,
} from "../../rewards/environments/environment.ts";
import { describeCall } from "../../rewards/environments/wire/session_environment.ts";
import { nextMessage, stdinLines } from "../chat/line_source.ts";
import { type FlagsOf, parseJson } from "../flags.ts";
import { print } from "../terminal/terminal.ts";
import pythonText from "./new/environment.py.txt" with { type: "text" };
import environmentText from "./new/environment.ts.txt" with { type: "text" };
import toolsText from "./new/tools.ts.txt" with { type: "text" };
import { environmentsIn, whichEnvironment } from "./which_environment.ts";

const TIMEOUT = 30;
/** Messages of the model in each dialogue of a check. */
const TURNS = 3;

/** Tries an environment. Returns the exit code: 1 when a call fails or gives different answers. */
export async function checkEnvironment(
  path: string,
  options: FlagsOf<"ENV_CHECK">,
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
  options: FlagsOf<"ENV_PLAY">,
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

function readObject(text: string | undefined, what: string): State {
  const value = text === undefined ? {} : parseJson(text, what);
  if (isRecord(value)) return value;
  throw new UsageError(`${what}: expected a JSON object, found ${text}`);
}

export async function newEnvironment(
  path: string,
  { tools, python }: FlagsOf<"ENV_NEW">,
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

/** Seconds for one call, which was in time then. */
const REPLAY_TIMEOUT = 600;
const SHOWN_DIFFERENCES = 20;

/** Returns the exit code: 1 when an environment answers differently. */
export async function replay(path: string, options: FlagsOf<"ENV_REPLAY">): Promise<number> {
  const files = await transcripts(path), folder = path.replace(/[^/\\]*\.jsonl$/, "") || ".";
  const config = options.config ?? `${folder}/config.yaml`;
  const own = options.environment === undefined
    ? null
    : await whichEnvironment(options.environment);
  if (own === null && !await exists(config)) {
    throw new UsageError(`${config}: no such file, so the environment is not known`, {
      advice: "Give --environment with its file, or --config.",
    });
  }
  const environments = own === null ? await environmentsIn(config) : new Map<string, Environment>();
  const find = (name: string) => {
    const found = own ?? environments.get(name);
    if (found !== undefined) return found;
    const names = [...environments.keys()].join(", ");
    throw new UsageError(`the transcript has an environment ${name}, ${config} has ${names}`);
  };
  const exchanges =
    (await Promise.all(files.map(async (file) => exchangesOf(await Deno.readFile(file)))))
      .flat().filter(({ environment }) => environment !== "");
  if (exchanges.length === 0) throw new UsageError(`${path}: no exchange with an environment`);
  const dialogues = [...dialoguesOf(exchanges).values()], different: string[] = [];
  let asked = 0;
  try {
    for (const name of new Set(exchanges.map(({ environment }) => environment))) {
      await find(name).open();
    }
    await Promise.all(dialogues.map(async (dialogue) => {
      const played = await playAgain(dialogue, find);
      asked += played.asked;
      if (played.difference !== null) different.push(played.difference);
    }));
  } finally {
    for (const environment of own === null ? environments.values() : [own]) {
      await environment.close();
    }
  }
  different.sort();
  const all = { dialogues: dialogues.length, exchanges: asked, different };
  if (options.json) print(JSON.stringify(all));
  else {
    for (const difference of different.slice(0, SHOWN_DIFFERENCES)) {
      print(`different: ${difference}`);
    }
    if (different.length > SHOWN_DIFFERENCES) {
      print(`… and ${different.length - SHOWN_DIFFERENCES} more`);
    }
    const what = `${counted(dialogues.length, "dialogue")}, ${counted(asked, "exchange")}`;
    const result = different.length === 0 ? "all as before" : `${different.length} different`;
    print(`${what}: ${result}`);
  }
  return different.length > 0 ? EXIT.failure : EXIT.ok;
}

async function transcripts(path: string): Promise<string[]> {
  if (!await exists(path)) throw new UsageError(`${path}: no such file or folder`);
  if (!(await Deno.stat(path)).isDirectory) return [path];
  const names: string[] = [];
  for await (const { name } of Deno.readDir(path)) if (TRANSCRIPT.test(name)) names.push(name);
  if (names.length > 0) return names.sort().map((name) => `${path}/${name}`);
  throw new UsageError(`${path}: it has no transcript.jsonl`, {
    advice: "A run with an environment or tools has one.",
  });
}

/**
 * Exchanges by their dialogue. One that stands twice was asked again after a break of the run, and
 * what followed it then is left out. Dialogues of a group may share their start.
 */
function dialoguesOf(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
  const dialogues = new Map<string, Exchange[]>(), starts = new Map<string, Exchange>();
  for (const exchange of exchanges) {
    const { scene, prompt, branch, call } = exchange, key = `${scene}/${prompt}/${branch}`;
    const dialogue = dialogues.get(key) ?? [];
    const earlier = dialogue.findIndex((one) => keyOf(one) === keyOf(exchange));
    if (earlier >= 0) dialogue.splice(earlier);
    dialogues.set(key, [...dialogue, exchange]);
    if (call === "reset") starts.set(`${scene}/${prompt}`, exchange);
  }
  for (const dialogue of dialogues.values()) {
    const { scene, prompt } = dialogue[0]!, start = starts.get(`${scene}/${prompt}`);
    if (start !== undefined && dialogue.every(({ call }) => call !== "reset")) {
      dialogue.unshift(start);
    }
  }
  return dialogues;
}

/** Plays until something differs. */
async function playAgain(
  dialogue: readonly Exchange[],
  find: (name: string) => Environment,
): Promise<{ asked: number; difference: string | null }> {
  const states = new Map<Environment, State>(), { branch } = dialogue.at(-1)!;
  /** Where the dialogue goes on. */
  const going = new Set<Environment>();
  let asked = 0, difference: string | null = null;
  for (const exchange of dialogue) {
    const { said } = exchange, environment = find(exchange.environment);
    // Whether a call is late depends on the clock.
    if ("late" in said && said.late) continue;
    const state = states.get(environment) ?? {};
    const call = { call: exchange.call, ...exchange.asked, state } as EnvironmentCall;
    const [outcome] = await environment.answer([call], REPLAY_TIMEOUT);
    asked++;
    if (outcome!.state !== undefined) states.set(environment, outcome!.state);
    if (call.call !== "reward" && outcome!.state !== undefined) going.add(environment);
    else going.delete(environment);
    const what = differenceOf(said, outcome!);
    if (what === null) continue;
    const where = placeText({ ...exchange, branch });
    difference = `${where}: ${exchange.environment}, ${describeCall(call)}: ${what}`;
    break;
  }
  // Its end makes room for other dialogues.
  for (const environment of going) {
    const state = states.get(environment)!;
    await environment.answer([{ call: "reward", state }], REPLAY_TIMEOUT);
  }
  return { asked, difference };
}
