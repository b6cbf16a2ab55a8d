/**
 * `rgx env replay`: the dialogues of a transcript played again. The environments are asked what
 * they were asked then, and each answer that differs is named.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { counted } from "../../core/counted.ts";
import { exists } from "../../core/paths.ts";
import type {
  Environment,
  EnvironmentCall,
  State,
} from "../../rewards/environments/environment.ts";
import {
  differenceOf,
  type Exchange,
  exchangesOf,
  keyOf,
  placeText,
  TRANSCRIPT,
} from "../../bench/dialogue/transcript.ts";
import { describeCall } from "../../rewards/environments/wire/session_environment.ts";
import type { Flags } from "../flags.ts";
import type { ENV_REPLAY } from "../flag_tables.ts";
import { print } from "../terminal/terminal.ts";
import { environmentsIn, whichEnvironment } from "./which_environment.ts";

/** Seconds for one call, which was in time then. */
const TIMEOUT = 600;
/** Differences that are named. */
const SHOWN = 20;

/** Returns the exit code: 1 when an environment answers differently. */
export async function replay(path: string, options: Flags<typeof ENV_REPLAY>): Promise<number> {
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
    (await Promise.all(files.map(async (file) => exchangesOf(await Deno.readFile(file), file))))
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
    for (const difference of different.slice(0, SHOWN)) print(`different: ${difference}`);
    if (different.length > SHOWN) print(`… and ${different.length - SHOWN} more`);
    const what = `${counted(dialogues.length, "dialogue")}, ${counted(asked, "exchange")}`;
    const result = different.length === 0 ? "all as before" : `${different.length} different`;
    print(`${what}: ${result}`);
  }
  return different.length > 0 ? EXIT.failure : EXIT.ok;
}

/** The transcripts of a run, or the one file. */
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
  let asked = 0;
  for (const exchange of dialogue) {
    const { said } = exchange, environment = find(exchange.environment);
    // Whether a call is late depends on the clock.
    if ("late" in said && said.late) continue;
    const state = states.get(environment) ?? {};
    const call = { call: exchange.call, ...exchange.asked, state } as EnvironmentCall;
    const [outcome] = await environment.answer([call], TIMEOUT);
    asked++;
    const difference = differenceOf(said, outcome!);
    if (difference !== null) {
      const where = placeText({ ...exchange, branch });
      const text = `${where}: ${exchange.environment}, ${describeCall(call)}: ${difference}`;
      return { asked, difference: text };
    }
    if (outcome!.state !== undefined) states.set(environment, outcome!.state);
  }
  return { asked, difference: null };
}
