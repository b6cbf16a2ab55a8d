/** The code inside the Worker that runs a user's task. It loads one module and calls it. */
import { RandomStream } from "../../core/philox.ts";
import { explain } from "../../core/sandbox/explain.ts";
import { lockDown } from "../../core/sandbox/lock_down.ts";
import * as helpers from "../task_helpers.ts";
import type { Task } from "../types.ts";
import type { FromWorker, TaskCall, TaskCard, ToWorker } from "./protocol.ts";
import { HELPERS } from "./protocol.ts";

// Captured before the user's code can replace them.
const scope = self as unknown as {
  postMessage(line: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
};
const postLine = scope.postMessage.bind(scope), { parse, stringify } = JSON;
const post = (message: FromWorker) => postLine(stringify([message]));
Object.assign(globalThis, { postMessage: undefined, [HELPERS.global]: helpers });
lockDown();

const FUNCTIONS = ["generate", "score", "validate", "clamp", "open"] as const;

let task: Task | null = null;
let moduleUrl = "";

scope.addEventListener("message", (event) => {
  const message: ToWorker = parse((event as MessageEvent<string>).data);
  if (message.type === "load") load(message.url);
  else answer(message.call);
});
for (const type of ["error", "unhandledrejection"]) {
  scope.addEventListener(type, (event) => event.preventDefault());
}

async function load(url: string): Promise<void> {
  moduleUrl = url;
  try {
    const { default: exported } = await import(url);
    task = exported as Task;
    post({ type: "loaded", task: cardOf(task) });
  } catch (error) {
    post({ type: "broken", message: explain(error, moduleUrl) });
  }
}

function cardOf(exported: Task): TaskCard {
  if (typeof exported !== "object" || exported === null) {
    throw new TypeError("its default export is no task: expected defineTask({ name, … })");
  }
  // JSON leaves the functions out.
  const functions = FUNCTIONS.filter((key) => typeof exported[key] === "function");
  return { ...exported, functions } as unknown as TaskCard;
}

function answer(call: TaskCall): void {
  try {
    if (call.call === "clamp") {
      const { config } = call;
      return post({ type: "result", value: task!.clamp!(config), config });
    }
    post({ type: "result", value: valueOf(call) });
  } catch (error) {
    post({ type: "error", message: explain(error, moduleUrl) });
  }
}

function valueOf(call: Exclude<TaskCall, { call: "clamp" }>): unknown {
  switch (call.call) {
    case "generate": {
      const [seed, c1, c2, c3] = call.stream as [number, number, number, number];
      return task!.generate(new RandomStream(seed, c1, c2, c3), call.config, call.index);
    }
    case "score":
      return task!.score(call.answer, call.entry);
    case "validate":
      return task!.validate!(call.config);
  }
}
