/** The code inside the Worker that runs a user's environment. It loads one module and calls it. */
import type { Work } from "../../../core/sandbox/sandbox_calls.ts";
import { inLanes, type Reporter, serveCalls } from "../../../core/sandbox/serve_calls.ts";
import { inTime, Late } from "../../time_limit.ts";
import {
  type EnvironmentCall,
  type EnvironmentParts,
  MAX_CONTENT,
  type Outcome,
  type Reply,
  type State,
  type Tool,
  truncated,
} from "../environment.ts";

// Captured before the user's code can replace it.
const { stringify } = JSON;

/** Longest state of a dialogue, as JSON. */
const MAX_STATE = 2 ** 20;
const RESERVED = ["reset", "step", "run", "reward", "tools"];

type Call = (...values: unknown[]) => unknown;
interface WrittenTool {
  description?: unknown;
  parameters?: unknown;
  run?: unknown;
}

let reset: Call | null = null, step: Call | null = null, reward: Call | null = null;
const runs = new Map<string, Call>();

serveCalls<EnvironmentParts, EnvironmentCall, Outcome>({ load, work });

/** @throws TypeError for what is no environment */
function load(module: Record<string, unknown>): EnvironmentParts {
  const parts = module["default"];
  if (!isObject(parts)) {
    throw new TypeError(
      "its default export is no environment: expected { reset, step?, tools?, reward? }",
    );
  }
  const known = ["reset", "step", "reward", "tools"];
  const unknown = Object.keys(parts).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`it has ${unknown}, expected only ${known.join(", ")}`);
  }
  const call = (name: string): Call | null => {
    const value = parts[name];
    if (value === undefined) return null;
    if (typeof value !== "function") {
      throw new TypeError(`${name} is ${kindOf(value)}, no function`);
    }
    return (...values) => (value as Call).apply(parts, values);
  };
  reset = call("reset");
  step = call("step");
  reward = call("reward");
  const { tools = {} } = parts;
  if (!isObject(tools)) throw new TypeError(`tools is ${kindOf(tools)}, expected an object`);
  const read = Object.entries(tools).map(([name, tool]) => readTool(name, tool));
  if (step === null && read.length === 0) {
    throw new TypeError("it has neither step nor tools, so nothing answers the model");
  }
  return { step: step !== null, reward: reward !== null, tools: read };
}

function readTool(name: string, tool: unknown): Tool {
  const at = `tools.${name}`;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`${at}: a name has 1 to 64 letters, digits, _ and -`);
  }
  if (RESERVED.includes(name)) throw new TypeError(`${at}: the name is reserved`);
  if (!isObject(tool)) throw new TypeError(`${at} is ${kindOf(tool)}, expected an object`);
  const { description, parameters = NO_PARAMETERS, run } = tool as WrittenTool;
  if (typeof description !== "string" || description.trim() === "") {
    throw new TypeError(`${at}.description: expected a text that tells the model what it does`);
  }
  if (typeof run !== "function") throw new TypeError(`${at}.run: expected a function`);
  const properties = propertiesOf(parameters, at);
  // Names that a function takes out of its arguments must be in the schema.
  for (const taken of namesTaken(run as Call)) {
    if (Object.hasOwn(properties, taken)) continue;
    const names = Object.keys(properties).join(", ") || "none";
    throw new TypeError(`${at}: run reads ${taken}, which its parameters do not have (${names})`);
  }
  runs.set(name, (...values) => (run as Call).apply(tool, values));
  return { name, description, parameters: JSON.parse(stringify(parameters)) };
}

const JSON_TYPES: unknown[] = "string number integer boolean object array null".split(" ");
const NO_PARAMETERS = { type: "object", properties: {} };

function propertiesOf(parameters: unknown, at: string): Record<string, unknown> {
  const schema = `${at}.parameters: expected a JSON schema { type: "object", properties: {…} }`;
  if (!isObject(parameters)) throw new TypeError(`${schema}, found ${kindOf(parameters)}`);
  const { type, properties = {}, required = [] } = parameters;
  if (type !== "object") throw new TypeError(`${schema}, its type is ${stringify(type)}`);
  if (!isObject(properties)) throw new TypeError(`${schema}, properties is ${kindOf(properties)}`);
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) throw new TypeError(`${schema}, ${name} is ${kindOf(property)}`);
    const unknown = [property["type"] ?? []].flat().find((type) => !JSON_TYPES.includes(type));
    if (unknown !== undefined) {
      const known = JSON_TYPES.join(", ");
      throw new TypeError(
        `${at}.parameters: the type of ${name} is ${stringify(unknown)}, expected ${known}`,
      );
    }
  }
  const missing = Array.isArray(required)
    ? required.find((name) => !Object.hasOwn(properties, name))
    : required;
  if (missing !== undefined) {
    throw new TypeError(`${at}.parameters: required names ${missing}, which is no property`);
  }
  return properties;
}

/** The names in `run({ a, b: c }, state)`; none where the first parameter is not of this form. */
function namesTaken(run: Call): string[] {
  const [, list] = /^(?:async\s*)?(?:function\b)?[^(]*\(\s*\{([^{}]*)\}/.exec(String(run)) ?? [];
  return (list ?? "").split(",").flatMap((part) => /^\s*(\w+)/.exec(part)?.[1] ?? []);
}

async function work(
  calls: Work<EnvironmentCall>,
  report: Reporter<Outcome>,
  explain: (error: unknown) => string,
): Promise<void> {
  await inLanes(calls, report, async (call, started): Promise<Outcome> => {
    started();
    try {
      return await answer(call, calls.limits.timeout);
    } catch (error) {
      return { error: explain(error), late: error instanceof Late };
    }
  });
}

async function answer(call: EnvironmentCall, seconds: number): Promise<Reply> {
  if (call.call === "reset") {
    const { row, seed, example } = call;
    const state = reset === null ? {} : await inTime(reset(row, { seed, example }), seconds);
    if (!isObject(state)) {
      throw new TypeError(`reset returned ${kindOf(state)}, expected the state, an object`);
    }
    const { observation = "" } = state;
    if (typeof observation !== "string") {
      throw new TypeError(`reset: observation is ${kindOf(observation)}, expected a text`);
    }
    return reply({ content: observation }, checkedState(state));
  }
  const { state } = call;
  switch (call.call) {
    case "step": {
      const said = await inTime(step!(call.message, state), seconds);
      return reply(said, checkedState(state), "step");
    }
    case "run": {
      const result = await inTime(runs.get(call.tool)!(call.args, state), seconds);
      const isReply = typeof result === "string" ||
        isObject(result) && typeof result["content"] === "string";
      // Other results reach the model as JSON.
      const said = isReply ? result : stringify(result) ?? "null";
      return reply(said, checkedState(state), `tools.${call.tool}`);
    }
    case "reward": {
      const value = await inTime(reward!(state), seconds);
      return reply({ content: "", reward: value }, checkedState(state), "reward");
    }
  }
}

/** A text, or `{content, reward?, done?, metrics?}`. @throws TypeError for anything else */
function reply(said: unknown, state: State, what = "reset"): Reply {
  const { content, reward = null, done = false, metrics = {} } =
    (typeof said === "string" ? { content: said } : said ?? {}) as Record<string, unknown>;
  const wrong = (field: string, value: unknown, expected: string) => {
    throw new TypeError(`${what}: ${field} is ${kindOf(value)}, expected ${expected}`);
  };
  if (typeof content !== "string") {
    const found = kindOf(said);
    throw new TypeError(
      `${what} returned ${found}, expected a text or { content, reward?, done?, metrics? }`,
    );
  }
  if (reward !== null && !isNumber(reward)) wrong("reward", reward, "a finite number or null");
  if (typeof done !== "boolean") wrong("done", done, "true or false");
  if (!isObject(metrics)) wrong("metrics", metrics, "an object of numbers");
  for (const [name, value] of Object.entries(metrics as object)) {
    if (!isNumber(value)) wrong(`metrics.${name}`, value, "a finite number");
  }
  return {
    state,
    content: truncated(content, MAX_CONTENT, "middle").toWellFormed(),
    reward: reward as number | null,
    done: done as boolean,
    metrics: metrics as Record<string, number>,
  };
}

/** @throws TypeError for a state that JSON cannot hold, or that is too large */
function checkedState(state: State): State {
  checkPlain(state, "state", 0);
  const { length } = stringify(state);
  if (length <= MAX_STATE) return state;
  throw new TypeError(`the state has ${length} characters as JSON, ${MAX_STATE} are the most`);
}

const MAX_DEPTH = 100;

function checkPlain(value: unknown, at: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new TypeError(`${at} is nested too deeply`);
  if (value === null || value === undefined || typeof value === "boolean") return;
  if (typeof value === "string" || isNumber(value)) return;
  if (Array.isArray(value)) {
    return value.forEach((item, i) => checkPlain(item, `${at}[${i}]`, depth + 1));
  }
  const prototype = typeof value === "object" ? Object.getPrototypeOf(value) : value;
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(
      `${at} is ${kindOf(value)}: a state has texts, finite numbers, true, false, null, lists ` +
        "and plain objects",
    );
  }
  for (const [name, part] of Object.entries(value as object)) {
    checkPlain(part, `${at}.${name}`, depth + 1);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  if (typeof value !== "object") return `a ${typeof value}`;
  const { name } = value.constructor ?? Object;
  return name === "Object" ? "an object" : `a ${name}`;
}
