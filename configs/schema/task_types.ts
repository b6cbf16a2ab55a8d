/**
 * Types of the values that name several tasks: a mixture of tasks, and the starting levels of a
 * curriculum.
 */
import { type ConfigNode, describeNode } from "../documents/node.ts";
import {
  below,
  type Complain,
  fields,
  float,
  freeMap,
  int,
  listOf,
  mapOf,
  name,
  refine,
  type ValueType,
} from "../types/value_types.ts";

/** One task of a mixture of tasks. */
export interface TaskSection {
  /** Name of a registered task, or the file of one of the user. */
  task_name: string;
  /** The task's share of the entries, relative to the other tasks. */
  weight: number;
  /** The task's parameters. */
  config: Record<string, unknown>;
}

interface StartingLevels {
  attribute_levels: Record<string, number>;
  weight: number;
}

/** The fields of one task of a mixture. The name has several spellings, also reasoning-gym's. */
const PART = fields({
  task_name: name(),
  name: name(),
  dataset: name(),
  weight: float({ above: 0 }),
  config: freeMap(),
  task_config: freeMap(),
  params: freeMap(),
}, "{task_name, weight, config}");

/** A list of `{task_name, weight, config}`, or a map of task names to `{weight, config}`. */
export const TASKS: ValueType<TaskSection[]> = {
  expected: "a list of {task_name, weight, config}, or a map of tasks to {weight, config}",
  ts: "TaskSection[]",
  read(node, complain) {
    const parts = readParts(node, this.expected, complain);
    if (parts === undefined || parts.includes(undefined)) return undefined;
    const tasks = parts as TaskSection[];
    if (tasks.length === 0) return complain(node.at, "expected at least one task, found none");
    const twice = tasks.find(({ task_name }, i) =>
      tasks.findIndex((other) => other.task_name === task_name) < i
    );
    if (twice === undefined) return tasks;
    return complain(node.at, `${twice.task_name} is there twice`);
  },
};

function readParts(
  node: ConfigNode,
  expected: string,
  complain: Complain,
): (TaskSection | undefined)[] | undefined {
  if (node.kind === "list") {
    return node.items.map((item, i) => readPart(item, null, below(i, complain)));
  }
  if (node.kind === "map") {
    return [...node.entries].map(([task, entry]) =>
      readPart(entry.node, task, below(task, complain))
    );
  }
  return complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
}

/** @param key the name of the task if the mixture is a map */
function readPart(node: ConfigNode, key: string | null, complain: Complain) {
  if (key === null && node.kind === "scalar" && typeof node.value === "string") {
    return { task_name: node.value, weight: 1, config: {} };
  }
  const part = PART.read(node, complain);
  if (part === undefined) return undefined;
  const names = [key, part.task_name, part.name, part.dataset].filter((given) => given != null);
  const configs = [part.config, part.task_config, part.params].filter((given) => given != null);
  if (names.length !== 1) {
    const found = names.length === 0 ? "none" : names.join(" and ");
    return complain(node.at, `expected one task_name, found ${found}`);
  }
  if (configs.length > 1) {
    return complain(node.at, "config, task_config and params mean the same: write one of them");
  }
  return { task_name: names[0]!, weight: part.weight ?? 1, config: configs[0] ?? {} };
}

const TASK_FILE = refine(
  fields({ path: name(), sha256: name() }, "{path, sha256}"),
  ({ path }) => path === undefined ? "expected a path" : null,
) as ValueType<{ path: string; sha256?: string }>;

export const TASK_FILES = listOf(
  { ...TASK_FILE, ts: "{ path: string; sha256?: string }" },
  "a list of {path, sha256}",
);

const CURRICULUM = fields({
  attribute_levels: mapOf(int({ min: 0 }), "a map of attributes to levels"),
  weight: float({ above: 0 }),
}, "{attribute_levels, weight}");

export const CURRICULA: ValueType<Record<string, StartingLevels>> = mapOf({
  ...CURRICULUM,
  ts: "{ attribute_levels: Record<string, number>; weight: number }",
  read(inner, report) {
    const read = CURRICULUM.read(inner, report);
    return read && { attribute_levels: read.attribute_levels ?? {}, weight: read.weight ?? 1 };
  },
}, "a map of tasks to {attribute_levels}");
