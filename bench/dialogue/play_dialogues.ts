/**
 * Plays dialogues of a model with environments and tools, all together in rounds. In a round, each
 * dialogue that goes on gets an answer of the model, and then the reply of the environment or the
 * tools. Token ids are made once: the next prompt of a dialogue is all its ids so far and the ids
 * of the reply. Results do not depend on times, unless a limit in seconds is reached.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ChatMessage, Tool as ShownTool, ToolCall } from "../../core/chat_message.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";
import { SAMPLE_START } from "../../data/empty_source.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import {
  type Environment,
  type EnvironmentCall,
  type Outcome,
  type Reply,
  type State,
  type Tool,
  truncated as shortened,
} from "../../rewards/environments/environment.ts";
import {
  findTool,
  type OpenEnvironments,
  type OpenPart,
  shownTools,
} from "../../rewards/environments/open_environments.ts";
import type {
  Completion,
  GenerateRequest,
  SamplingOptions,
} from "../../models/generation/types.ts";
import type { Entry } from "../../tasks/types.ts";
import type { EncodedPrompt, PromptEncoder } from "../evaluation/prompt_encoder.ts";
import type { Dialogue, DialogueSetup, StopReason } from "./dialogue.ts";
import type { Segment } from "./segments.ts";
import type { Exchange } from "./transcript.ts";

/** A problem, and which of its dialogues are wanted. */
export interface DialogueStart {
  entry: Entry;
  /** Keys the draws, as in {@link GenerateRequest}. */
  promptId: number;
  /** Number of the first one. */
  firstBranch: number;
  branches: number;
  /** @see PromptEncoder.prompt */
  shots?: readonly Entry[];
  /** @see PromptEncoder.prompt */
  isOwnData?: boolean;
}

export interface PlayOptions extends DialogueSetup {
  prompts: PromptEncoder;
  /** Tokens after the prompt. */
  maxTokens: number;
  /** Of the environments' starts. */
  seed: number;
  /** Sampling options that differ from those of `generate`. */
  sampling?: Partial<SamplingOptions>;
  /** In the transcript: the step of the run, and what the dialogues are for. */
  scene?: string;
  /** Whether dialogues are returned even if the environment fails in all of them. */
  mayFail?: boolean;
  /** Samples one answer for each branch of the requests. */
  generate: (requests: readonly GenerateRequest[]) => Promise<readonly (readonly Completion[])[]>;
}

/**
 * @returns the dialogues of each start
 * @throws RgxError when the environment fails in all, unless it may
 */
export async function playDialogues(
  starts: readonly DialogueStart[],
  options: PlayOptions,
): Promise<Dialogue[][]> {
  const game = new Game(starts, options);
  await game.begin();
  while (game.goesOn) await game.round();
  return await game.end();
}

/** Number of problems whose start is tried before a run. */
const MEASURED = 16;

/**
 * The maximum number of tokens that the start of an environment adds to a prompt, over the first
 * problems.
 * @throws UsageError when the environment cannot begin with any of them
 */
export async function observationTokens(
  environments: OpenEnvironments,
  problems: Pick<SplitProblems, "heldOut" | "trainEntry">,
  trainProblems: number,
  prompts: PromptEncoder,
  { training, multi_turn: limits }: Pick<RunConfig, "training" | "multi_turn">,
): Promise<number> {
  const train = Array.from({ length: Math.min(MEASURED, trainProblems) }, (_, i) => i);
  const entries = [
    ...problems.heldOut.slice(0, MEASURED),
    ...train.map((i) => problems.trainEntry(i)),
  ];
  const game = new Game(
    entries.map((entry, promptId) => ({ entry, promptId, firstBranch: 0, branches: 1 })),
    { environments, prompts, seed: training.seed, limits } as PlayOptions,
  );
  await game.begin();
  await environments.close();
  return game.observed();
}

/** The first observation of an environment, as the only content of a problem. */
export async function sampleStart(
  environments: OpenEnvironments,
  { multi_turn, training }: Pick<RunConfig, "training" | "multi_turn">,
): Promise<string> {
  const entry = { question: "", answer: null, metadata: {} };
  const { environment } = environments.partsOf(entry)[0]!;
  const call = { call: "reset", row: rowOf(entry), seed: training.seed, example: 0 } as const;
  const [outcome] = await environment.answer([call], multi_turn.tool_timeout_s);
  await environments.close();
  if ("error" in outcome!) throw cannotBegin(environment, outcome.error);
  return outcome!.content;
}

const CHECK_ADVICE = "rgx env check FILE tries an environment by itself.";

function cannotBegin({ name }: Environment, error: string | null): UsageError {
  return new UsageError(`the environment ${name} cannot begin: ${error}`, {
    advice: CHECK_ADVICE,
  });
}

/** The fields of a problem, as `reset` gets them. */
export function rowOf({ question, answer, messages, metadata }: Entry): Record<string, unknown> {
  return { ...metadata, question, answer, ...(messages === undefined ? {} : { messages }) };
}

/** The problem with its tools, and with the environment's observation after its last message. */
function withObservation(given: Entry, observation: string, tools: readonly ShownTool[]): Entry {
  const shown = tools.length === 0 ? {} : { tools };
  const entry = { ...given, templateVariables: { ...given.templateVariables, ...shown } };
  const { messages } = entry, last = messages?.at(-1);
  const metadata = { ...entry.metadata, [SAMPLE_START]: null };
  if (messages === undefined || last === undefined) {
    return { ...entry, metadata, question: entry.question + observation };
  }
  const content = last.content + observation;
  return { ...entry, metadata, messages: [...messages.slice(0, -1), { ...last, content }] };
}

/** The problem of a call's arguments; null: they fit the schema. */
function wrongArguments(args: Readonly<Record<string, unknown>>, { parameters }: Tool) {
  const { properties = {}, required = [], additionalProperties } = parameters;
  const names = Object.keys(properties as object);
  const missing = (required as string[]).find((name) => !Object.hasOwn(args, name));
  if (missing !== undefined) return `The argument ${missing} is missing.`;
  const other = Object.keys(args).find((name) => !names.includes(name));
  if (other === undefined || additionalProperties === true) return null;
  return `There is no argument ${other}; the arguments are ${names.join(", ") || "none"}.`;
}

/** A dialogue that is played. */
class Player {
  readonly segments: Segment[] = [];
  readonly messages: ChatMessage[] = [];
  prompt: EncodedPrompt = { text: "", ids: [] };
  stop: StopReason | null = null;
  error: string | null = null;
  text = "";
  turns = 0;
  userTurns = 0;
  /** Number of all tokens after the prompt. */
  length = 0;
  iterations = 0;
  calls = 0;
  retries = 0;
  readonly turnRewards: number[] = [];
  hasReward = false;
  readonly tools: Record<string, { calls: number; failures: number }> = {};
  metrics: Record<string, number> = {};
  readonly states = new Map<Environment, State>();
  readonly began = performance.now();
  /** The calls of the last answer. */
  asks: readonly ToolCall[] = [];
  /** The text before the next answer. */
  before = "";

  constructor(
    readonly start: DialogueStart,
    readonly branch: number,
    readonly parts: readonly OpenPart[],
  ) {}

  /** The environment that begins it; null: it only has tools. */
  get own(): OpenPart | null {
    const [first] = this.parts;
    return first === undefined || first.isToolFile ? null : first;
  }

  /** Its place in a transcript: prompt, branch and turn. */
  get place(): string {
    return `${this.start.promptId}/${this.branch}/${this.turns}`;
  }

  get shownTools(): ShownTool[] {
    return shownTools(this.parts.flatMap(({ parts }) => parts.tools));
  }

  /** Counts a call of a tool; all unknown names are counted together. */
  count(name: string, failed: boolean): void {
    const counts = this.tools[findTool(this.parts, name) === null ? "" : name] ??= {
      calls: 0,
      failures: 0,
    };
    counts.calls++;
    if (failed) counts.failures++;
  }

  add(from: Segment["from"], ids: readonly number[], logprobs?: readonly number[]): void {
    if (ids.length === 0) return;
    this.segments.push({ from, ids, logprobs: logprobs ?? ids.map(() => 0) });
    this.length += ids.length;
  }

  end(stop: StopReason, error: string | null = null): void {
    this.stop ??= stop;
    this.error ??= error;
  }

  /** Takes the state, the reward and the numbers of a reply. */
  take(environment: Environment, { state, reward, metrics }: Reply): void {
    this.states.set(environment, state);
    this.metrics = { ...this.metrics, ...metrics };
    if (reward === null) return;
    this.hasReward = true;
    // Rewards before the first turn or after the last one belong to that turn.
    const turn = Math.max(this.turns - 1, 0);
    this.turnRewards[turn] = (this.turnRewards[turn] ?? 0) + reward;
  }
}

/** A call of a player, and what to do with its outcome. */
interface Asked {
  player: Player;
  environment: Environment;
  call: EnvironmentCall;
  /** Number of a call of a tool in its turn. */
  number?: number;
}

/** Seconds for a call that is known to end. */
const ANY_TIME = 1e6;

class Game {
  readonly #players: Player[];

  constructor(
    private readonly starts: readonly DialogueStart[],
    private readonly options: PlayOptions,
  ) {
    this.#players = starts.flatMap((start) => {
      const parts = options.environments.partsOf(start.entry);
      return Array.from(
        { length: start.branches },
        (_, i) => new Player(start, start.firstBranch + i, parts),
      );
    });
  }

  get goesOn(): boolean {
    return this.#players.some(({ stop }) => stop === null);
  }

  /** The start of each dialogue; those of a group share it, unless each has a seed of its own. */
  async begin(): Promise<void> {
    const { prompts, limits } = this.options, isShared = limits.seed !== "rollout";
    const asked = new Map<string, Asked>();
    const keyOf = ({ start, branch }: Player) =>
      `${this.starts.indexOf(start)}/${isShared ? 0 : branch}`;
    for (const player of this.#players) {
      const key = keyOf(player), { own, start } = player;
      if (own === null || asked.has(key)) continue;
      const { entry } = start, index = entry.metadata["source_index"];
      const call: EnvironmentCall = {
        call: "reset",
        row: rowOf(entry),
        seed: this.#seedOf(player),
        example: typeof index === "number" ? index : start.promptId,
      };
      asked.set(key, { player, environment: own.environment, call });
    }
    const outcomes = await this.#ask([...asked.values()]);
    const byKey = new Map([...asked.keys()].map((key, i) => [key, outcomes[i]!]));
    const encoded = new Map<string, EncodedPrompt>();
    for (const player of this.#players) {
      const key = keyOf(player), outcome = byKey.get(key), { own, start } = player;
      let observation = "";
      if (outcome !== undefined && "error" in outcome) {
        player.end(outcome.late ? "timeout" : "error", outcome.error);
      } else if (outcome !== undefined) {
        player.take(own!.environment, structuredClone(outcome));
        observation = outcome.content;
      }
      let prompt = encoded.get(key);
      if (prompt === undefined) {
        // Where the start has failed, there may be nothing to show.
        const entry = withObservation(
          start.entry,
          player.stop === null ? observation : "-",
          player.shownTools,
        );
        encoded.set(key, prompt = prompts.prompt(entry, start.shots, start.isOwnData));
      }
      player.prompt = prompt;
      player.before = prompt.text;
    }
  }

  /** The most tokens that a start has added to its prompt. @throws UsageError when none began */
  observed(): number {
    const players = this.#players.filter(({ stop }) => stop === null);
    if (players.length > 0) {
      const { prompts } = this.options;
      return Math.max(
        ...players.map(({ prompt, start }) =>
          prompt.ids.length - prompts.prompt(start.entry).ids.length
        ),
      );
    }
    const { own, error } = this.#players[0]!;
    throw cannotBegin(own!.environment, error);
  }

  #seedOf({ start, branch }: Player): number {
    const { seed, limits } = this.options;
    const name = limits.seed === "row"
      ? JSON.stringify(rowOf(start.entry))
      : limits.seed === "rollout"
      ? `${start.promptId}/${branch}`
      : `${start.promptId}`;
    return RandomStream.forPurpose(seed, "environment", name).below(2 ** 31);
  }

  /** One answer of the model for each dialogue that goes on, and the reply to it. */
  async round(): Promise<void> {
    const open = this.#players.filter((player) => player.stop === null && this.#hasRoom(player));
    const active = await this.#inTime(open);
    const answers = await this.#answers(active);
    active.forEach((player, i) => this.#takeAnswer(player, answers[i]!));
    // A message about a call that cannot be read is the reply to its answer.
    const going = active.filter(({ stop, messages }) =>
      stop === null && messages.at(-1)!.role === "assistant"
    );
    await this.#run(going.filter(({ asks }) => asks.length > 0));
    await this.#step(going.filter(({ asks }) => asks.length === 0));
  }

  /** Whether there is room and time for a further answer. */
  #hasRoom(player: Player): boolean {
    const { maxTokens, maxPositions, limits } = this.options;
    const { max_assistant_turns: most } = limits;
    if (most !== null && player.turns >= most) player.end("max_turns");
    else if (player.length >= maxTokens) player.end("length");
    else if (player.prompt.ids.length + player.length >= maxPositions) {
      player.end("context_overflow");
    }
    return player.stop === null;
  }

  /** Those of the dialogues that have time for a further answer. */
  async #inTime(players: readonly Player[]): Promise<Player[]> {
    const { limits: { rollout_timeout_s: seconds }, transcript, scene = "" } = this.options;
    if (seconds === null) return [...players];
    const error = `it took more than ${seconds} s`, exchanges: Exchange[] = [];
    for (const player of players) {
      const at = `${player.place}/clock`, call = { call: "clock" as const };
      const known = transcript?.find(scene, at, call) ?? null;
      const isLate = known === null
        ? performance.now() - player.began > seconds * 1000
        : known.outcome !== null;
      if (isLate) player.end("timeout", error);
      if (known !== null) continue;
      exchanges.push({ at, call, outcome: { error, late: true }, isSteady: !isLate });
    }
    await transcript?.add(scene, exchanges);
    return players.filter(({ stop }) => stop === null);
  }

  async #answers(players: readonly Player[]): Promise<Completion[]> {
    const { maxTokens, sampling, limits: { max_turn_tokens: most } } = this.options;
    const requests: GenerateRequest[] = [], answers: Completion[] = [];
    for (const { prompt, segments, length, start, branch } of players) {
      const last = requests.at(-1), isFirst = length === 0;
      // Completions of the same prompt are one request, so that it is computed once.
      const isSame = isFirst && last?.promptId === start.promptId &&
        last.promptIds === prompt.ids && last.firstBranch! + last.n === branch;
      if (isSame) last.n++;
      else {
        requests.push({
          promptId: start.promptId,
          promptIds: isFirst ? prompt.ids : [...prompt.ids, ...segments.flatMap(({ ids }) => ids)],
          n: 1,
          firstBranch: branch,
          ...(isFirst ? {} : { firstPosition: length }),
          ...(isFirst && most === null && sampling === undefined ? {} : {
            sampling: {
              ...sampling,
              maxNewTokens: Math.min(maxTokens - length, most ?? Infinity),
            },
          }),
        });
      }
    }
    if (requests.length === 0) return [];
    for (const branches of await this.options.generate(requests)) answers.push(...branches);
    return answers;
  }

  #takeAnswer(player: Player, { ids, logprobs, finishReason }: Completion): void {
    const { prompts, maxTokens, maxPositions } = this.options;
    player.add("model", ids, logprobs);
    player.turns++;
    player.turnRewards[player.turns - 1] ??= 0;
    player.text = prompts.text(ids);
    const { message, fault } = this.#read(player, ids);
    player.messages.push(message);
    player.asks = message.tool_calls ?? [];
    if (prompts.truncated(ids, finishReason === "stop")) {
      // A call that is cut off is not run, even if it could be read.
      const isFull = player.length < maxTokens &&
        player.prompt.ids.length + player.length >= maxPositions;
      player.end(isFull ? "context_overflow" : "length");
    } else if (fault !== null) this.#answerFault(player, fault);
    else if (player.asks.length === 0 && player.own?.parts.step !== true) player.end("completed");
  }

  /**
   * The answer as a message; `fault`: a part of the answer looks like a call, but cannot be read.
   */
  #read(player: Player, ids: readonly number[]): { message: ChatMessage; fault: string | null } {
    const { prompts, limits: { format } } = this.options, tools = player.shownTools;
    const dialect = prompts.dialect(format), plain = { role: "assistant", content: player.text };
    if (dialect === null) return { message: plain, fault: null };
    const text = prompts.tokenizer.decode(ids);
    const answer = dialect.parse(text, { prompt: player.before, tools });
    const { content, reasoning, toolCalls, errors } = answer;
    // Without tools, everything is text.
    if (tools.length === 0 && toolCalls.length + errors.length > 0) {
      return { message: plain, fault: null };
    }
    const tool_calls = toolCalls.map((call): ToolCall => ({ type: "function", function: call }));
    const message = {
      role: "assistant",
      content,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(errors.length > 0 || tool_calls.length === 0 ? {} : { tool_calls }),
    };
    return { message, fault: errors[0]?.message ?? null };
  }

  /** After an answer that cannot be read, the dialogue ends, or the model gets a message. */
  #answerFault(player: Player, fault: string): void {
    const { on_parse_error: rule } = this.options.limits;
    player.count("", true);
    player.asks = [];
    if (rule === "end" || player.retries >= rule.retry.max) {
      return player.end("parse_error", fault);
    }
    player.retries++;
    const content = rule.retry.message.replaceAll("{error}", () => fault);
    this.#say(player, [{ role: "user", content }]);
  }

  /** Runs the calls of tools in their order, one of each dialogue at a time. */
  async #run(players: readonly Player[]): Promise<void> {
    const { max_tool_calls: most, max_tool_calling_iterations: rounds } = this.options.limits;
    const results = new Map<Player, ChatMessage[]>();
    for (const player of players) {
      player.calls += player.asks.length;
      const isOver = rounds !== null && player.iterations >= rounds ||
        most !== null && player.calls > most;
      if (isOver) player.end("max_tool_calls");
      else results.set(player, []);
      player.iterations++;
    }
    for (let k = 0;; k++) {
      const asking = [...results.keys()].filter(({ asks, stop }) =>
        stop === null && k < asks.length
      );
      if (asking.length === 0) break;
      await this.#runNext(asking, k, results);
    }
    for (const [player, messages] of results) {
      if (player.stop === null) this.#say(player, messages);
    }
  }

  /** Runs call number `k` of each of these dialogues. */
  async #runNext(
    players: readonly Player[],
    k: number,
    results: ReadonlyMap<Player, ChatMessage[]>,
  ): Promise<void> {
    const { limits } = this.options, asked: Asked[] = [];
    const answer = (player: Player, content: string, failed: boolean) => {
      const { name } = player.asks[k]!.function;
      player.count(name, failed);
      const { max_tool_response_length: length, tool_response_truncate_side: side } = limits;
      results.get(player)!.push({ role: "tool", name, content: shortened(content, length, side) });
    };
    const fail = (player: Player, error: string) => answer(player, JSON.stringify({ error }), true);
    for (const player of players) {
      const { name, arguments: args } = player.asks[k]!.function,
        owner = findTool(player.parts, name);
      const { max_parallel_calls: most } = limits;
      const wrong = most !== null && k >= most
        ? `Only ${most} calls are run in one answer.`
        : owner === null
        ? `Tool ${name} not found.`
        : wrongArguments(args, owner.tool);
      if (wrong !== null) fail(player, wrong);
      else {
        const { environment } = owner!, state = player.states.get(environment) ?? {};
        const call = { call: "run", tool: name, args, state } as const;
        asked.push({ player, environment, call, number: k });
      }
    }
    const outcomes = await this.#ask(asked);
    for (const [i, { player, environment }] of asked.entries()) {
      const outcome = outcomes[i]!;
      if (!("error" in outcome)) {
        answer(player, outcome.content, false);
        player.take(environment, outcome);
        if (outcome.done) player.end("done");
      } else {
        fail(player, outcome.error);
        if (outcome.state !== undefined) player.states.set(environment, outcome.state);
        if (outcome.late) player.end("timeout", outcome.error);
      }
    }
  }

  /** The replies of the environments' `step` to the answers. */
  async #step(players: readonly Player[]): Promise<void> {
    const outcomes = await this.#ask(players.map((player) => {
      const { environment } = player.own!;
      const message = player.messages.at(-1)!, state = player.states.get(environment)!;
      return { player, environment, call: { call: "step", message, state } };
    }));
    for (const [i, player] of players.entries()) {
      const outcome = outcomes[i]!, { max_user_turns: most } = this.options.limits;
      if ("error" in outcome) {
        player.end(outcome.late ? "timeout" : "error", outcome.error);
        continue;
      }
      player.take(player.own!.environment, outcome);
      if (outcome.done) player.end("done");
      else if (most !== null && player.userTurns >= most) player.end("max_turns");
      else this.#say(player, [{ role: "user", content: outcome.content }]);
    }
  }

  /** Adds messages to a dialogue, if there is room for them and for an answer. */
  #say(player: Player, messages: readonly ChatMessage[]): void {
    const { prompts, maxTokens, maxPositions, limits } = this.options;
    const { max_assistant_turns: most } = limits;
    if (most !== null && player.turns >= most) return player.end("max_turns");
    const next = prompts.bridge(messages, player.start.entry, limits.format);
    const last = player.segments.at(-1)?.ids.at(-1), { eosId } = prompts.tokenizer;
    // An answer that a stop text has ended lacks the token that ends it.
    const hasEnd = eosId === null || last !== undefined && prompts.eosIds.includes(last);
    const closing = hasEnd ? [] : [eosId], length = player.length + closing.length + next.length;
    if (length > maxTokens) return player.end("length");
    if (player.prompt.ids.length + length >= maxPositions) return player.end("context_overflow");
    player.add("closing", closing);
    player.add("environment", next);
    player.messages.push(...messages);
    player.before = prompts.tokenizer.decode(next);
    player.userTurns++;
  }

  /**
   * The outcomes of calls, in their order; all calls of one environment are sent together. A call
   * whose outcome is in the transcript is not sent again. One that the transcript has without an
   * outcome is sent without a limit of time.
   */
  async #ask(asked: readonly Asked[]): Promise<Outcome[]> {
    const { limits: { tool_timeout_s: limit }, transcript, scene = "" } = this.options;
    const places = asked.map(({ player: { place }, call, number = 0 }) =>
      `${place}/${call.call}${number === 0 ? "" : number}`
    );
    const known = asked.map(({ call }, i) => transcript?.find(scene, places[i]!, call) ?? null);
    const outcomes = known.map((found) => found?.outcome ?? null);
    const open = [...asked.keys()].filter((i) => outcomes[i] === null);
    const together = Map.groupBy(open, (i) => asked[i]!.environment);
    await Promise.all([...together].map(async ([environment, indices]) => {
      for (const isNew of [true, false]) {
        const some = indices.filter((i) => (known[i] === null) === isNew);
        if (some.length === 0) continue;
        const calls = some.map((i) => asked[i]!.call);
        const answers = await environment.answer(calls, isNew ? limit : ANY_TIME);
        some.forEach((index, i) => outcomes[index] = answers[i]!);
      }
    }));
    const fresh = open.filter((i) => known[i] === null).map((i): Exchange => {
      const { call, environment } = asked[i]!, outcome = outcomes[i]!;
      return {
        at: places[i]!,
        call,
        outcome,
        isSteady: environment.isSteady && !("error" in outcome),
      };
    });
    await transcript?.add(scene, fresh);
    return outcomes as Outcome[];
  }

  /** Asks for the last rewards, and returns the dialogues. */
  async end(): Promise<Dialogue[][]> {
    const judged = this.#players.filter(({ own, stop }) => own?.parts.reward && stop !== "error");
    const outcomes = await this.#ask(judged.map((player) => {
      const { environment } = player.own!, state = player.states.get(environment) ?? {};
      return { player, environment, call: { call: "reward", state } };
    }));
    for (const [i, player] of judged.entries()) {
      const outcome = outcomes[i]!;
      if ("error" in outcome) Object.assign(player, { stop: "error", error: outcome.error });
      else player.take(player.own!.environment, outcome);
    }
    const failed = this.#players.filter(({ stop }) => stop === "error");
    const isLost = failed.length === this.#players.length && failed.length > 0;
    if (isLost && !this.options.mayFail) {
      const { own, error } = failed[0]!;
      throw new RgxError(`the environment ${own?.environment.name} failed: ${error}`, {
        advice: CHECK_ADVICE,
      });
    }
    const dialogues = this.#players.map((player) => this.#dialogue(player));
    return this.starts.map(({ branches }) => dialogues.splice(0, branches));
  }

  #dialogue(player: Player): Dialogue {
    const { prompt, segments, messages, text, error, turns, userTurns, tools, metrics } = player;
    const stop = player.stop!, isCut = stop !== "completed" && stop !== "done";
    const turnRewards = Array.from({ length: turns }, (_, i) => player.turnRewards[i] ?? 0);
    const sum = player.turnRewards.reduce((total, reward) => total + (reward ?? 0), 0);
    const { limit_reward: rule } = this.options.limits;
    const graded = !isCut || rule === "grade" ? sum : rule === "zero" ? 0 : Math.min(sum, 0);
    // The reward that a limit takes away is taken from the last turn.
    if (graded !== sum && turns > 0) turnRewards[turns - 1]! += graded - sum;
    return {
      prompt,
      segments: segments.length === 0 ? [{ from: "model", ids: [], logprobs: [] }] : segments,
      messages,
      text,
      truncated: isCut,
      // The model is not to blame for an error of the environment.
      reward: stop === "error" || player.own === null && !player.hasReward ? null : graded,
      about: { stop, error, turns, userTurns, turnRewards, tools, metrics },
    };
  }
}
