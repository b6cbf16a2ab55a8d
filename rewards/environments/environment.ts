/**
 * The interface of an environment. It begins with a row of the data, answers the messages of a
 * model by `step` or by tools, and may give rewards. Its state is a value that JSON can hold. It
 * goes in and out with every call: a process that is ended loses nothing, any process can answer
 * any call, and an answer is a function of (row, seed, what the model did).
 */
import type { ChatMessage } from "../../core/chat_message.ts";

/** A tool, as chat templates show it. */
export interface Tool {
  /** Letters, digits, `_` and `-`. */
  name: string;
  /** Description of the tool for the model. */
  description: string;
  /** JSON schema of its arguments, an object. */
  parameters: Record<string, unknown>;
}

/** The problem of a call's arguments; null: they fit the schema. */
export function wrongArguments(
  args: Readonly<Record<string, unknown>>,
  { parameters }: Tool,
): string | null {
  const { properties = {}, required = [], additionalProperties } = parameters;
  const names = Object.keys(properties as object);
  const missing = (required as string[]).find((name) => !Object.hasOwn(args, name));
  if (missing !== undefined) return `The argument ${missing} is missing.`;
  const other = Object.keys(args).find((name) => !names.includes(name));
  if (other === undefined || additionalProperties === true) return null;
  return `There is no argument ${other}; the arguments are ${names.join(", ") || "none"}.`;
}

export interface EnvironmentParts {
  /** It answers each message of the model. */
  step: boolean;
  /** It judges a dialogue that has ended. */
  reward: boolean;
  tools: readonly Tool[];
  /** It is an agent, which leads the dialogue: its replies are requests to a chat's API. */
  agent?: AgentLimits;
}

export interface AgentLimits {
  /** Tokens of a prompt that goes on with nothing before. */
  maxPromptTokens: number;
}

/** What an agent's request is answered: a body of OpenAI's API. */
export interface ApiReply {
  status: number;
  body: object;
}

/** The state of a dialogue in an environment, an object. */
export type State = Record<string, unknown>;

export type EnvironmentCall =
  | { call: "reset"; row: Readonly<Record<string, unknown>>; seed: number; example: number }
  | { call: "step"; message: ChatMessage; state: State; reply?: ApiReply }
  | { call: "run"; tool: string; args: Readonly<Record<string, unknown>>; state: State }
  | { call: "reward"; state: State };

export interface Reply {
  state: State;
  /** For the model: the observation of a reset, the answer of a step, the result of a tool. */
  content: string;
  /** null = none, which is not 0. */
  reward: number | null;
  done: boolean;
  /** Numbers for the metrics of the step. */
  metrics: Readonly<Record<string, number>>;
  /** What is judged in place of the last answer, such as all moves of a game; default: that one. */
  judged?: string;
}

/** A reply, or the reason why there is none; a state comes with an error that changed it. */
export type Outcome = (Reply | { error: string; state?: State }) & { late?: boolean };

export interface Environment {
  readonly name: string;
  /** Whether the same call has the same answer at any time: it asks no hosts. */
  readonly isSteady: boolean;
  /** The state after a call whose outcome is known; without it, outcomes are kept with states. */
  stateAfter?(call: EnvironmentCall, outcome: Outcome): State;
  /** @throws UsageError when it cannot be used */
  open(): Promise<EnvironmentParts>;
  /**
   * One outcome for each call, in their order, whatever happens. Further calls come while earlier
   * ones are under way: a dialogue whose call takes long must not hold up the others.
   * @param seconds the time limit for one call
   */
  answer(calls: readonly EnvironmentCall[], seconds: number): Promise<Outcome[]>;
  /** Ends its processes; a further call starts them again. */
  close(): Promise<void>;
}

/** Longest answer of an environment, in characters; the middle of a longer one is left out. */
export const MAX_CONTENT = 2 ** 18;

/** Where a text that is too long is cut: verl's `tool_response_truncate_side`. */
export type TruncateSide = "left" | "right" | "middle";

/** A text of at most so many characters and a mark, cut as verl cuts results of tools. */
export function truncated(text: string, length: number, side: TruncateSide): string {
  if (text.length <= length) return text;
  if (side === "left") return `(truncated)...${text.slice(-length)}`;
  if (side === "right") return `${text.slice(0, length)}...(truncated)`;
  const half = Math.floor(length / 2);
  return `${text.slice(0, half)}...(truncated)...${half === 0 ? "" : text.slice(-half)}`;
}
