/**
 * Plays dialogues of a model with environments and tools. Each goes on by itself: an answer of the
 * model, then the reply of the environment or the tools. While it waits for a reply, the others go
 * on. Token ids are made once: the next prompt of a dialogue is all its ids so far and the ids of
 * the reply. Results do not depend on times, unless a limit in seconds is reached.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ChatMessage, Tool as ShownTool, ToolCall } from "../../core/chat_message.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import {
  type Environment,
  type EnvironmentCall,
  type Outcome,
  type Reply,
  type State,
  truncated as shortened,
  wrongArguments,
} from "../../rewards/environments/environment.ts";
import {
  findTool,
  type OpenEnvironments,
  type OpenPart,
  shownTools,
} from "../../rewards/environments/open_environments.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateRequest,
} from "../../models/generation/types.ts";
import type { Entry } from "../../tasks/types.ts";
import type { EncodedPrompt, PromptEncoder } from "../evaluation/prompt_encoder.ts";
import { AgentChat, longestPrompt } from "./agent_chat.ts";
import { type Dialogue, type DialogueSetup, type StopReason, withObservation } from "./dialogue.ts";
import { answerSpans, idsOf, type Segment } from "./segments.ts";

/** A problem, and which of its dialogues are wanted. */
export interface DialogueStart {
  entry: Entry;
  /** Keys the draws, as in {@link GenerateRequest}. */
  promptId: number;
  /** Number of the first one; default 0. */
  firstBranch?: number;
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
  /** In the transcript: the step of the run, and what the dialogues are for. */
  scene?: string;
  /** Whether dialogues are returned even if the environment fails in all of them. */
  mayFail?: boolean;
  /** Samples the answers while `play` asks for them. */
  generate: <T>(room: DialogueRoom, play: (ask: Ask) => Promise<T>) => Promise<T>;
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
  try {
    await game.begin();
    await game.play();
    return game.end();
  } finally {
    game.hasEnded = true;
  }
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
  maxPositions: number,
): Promise<number> {
  const train = Array.from({ length: Math.min(MEASURED, trainProblems) }, (_, i) => i);
  const entries = [
    ...problems.heldOut.slice(0, MEASURED),
    ...train.map((i) => problems.trainEntry(i)),
  ];
  const game = new Game(
    entries.map((entry, promptId) => ({ entry, promptId, branches: 1 })),
    {
      environments,
      prompts,
      seed: training.seed,
      limits,
      maxTokens: training.max_completion_length,
      maxPositions,
    } as PlayOptions,
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
  const { environment, parts } = environments.partsOf(entry)[0]!;
  // An agent is not started to see it.
  if (parts.agent !== undefined) return `(${environment.name} asks)`;
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
  began = performance.now();
  /** The calls of the last answer. */
  asks: readonly ToolCall[] = [];
  /** What is judged in place of the last answer. */
  judged: string | null = null;
  /** The text before the next answer. */
  before = "";
  chat: AgentChat | null = null;

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
  get place(): { prompt: number; branch: number; turn: number } {
    return { prompt: this.start.promptId, branch: this.branch, turn: this.turns };
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
  take(environment: Environment, { state, reward, metrics, judged }: Reply): void {
    this.states.set(environment, state);
    this.metrics = { ...this.metrics, ...metrics };
    this.judged = judged ?? this.judged;
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
  /** What is said afterwards, by environments that are closed, is no reply. */
  hasEnded = false;
  readonly #players: Player[];

  constructor(
    private readonly starts: readonly DialogueStart[],
    private readonly options: PlayOptions,
  ) {
    this.#players = starts.flatMap((start) => {
      const { firstBranch = 0 } = start;
      const parts = options.environments.partsOf(start.entry);
      return Array.from(
        { length: start.branches },
        (_, i) => new Player(start, firstBranch + i, parts),
      );
    });
  }

  /** The start of each dialogue; those of a group share it, unless each has a seed of its own. */
  async begin(): Promise<void> {
    const { prompts, limits } = this.options, isShared = limits.seed !== "rollout";
    const asked = new Map<string, Asked>();
    const keyOf = ({ start, branch }: Player) =>
      `${this.starts.indexOf(start)}/${isShared ? 0 : branch}`;
    for (const player of this.#players) {
      const key = keyOf(player), { own } = player;
      // An agent begins when it has a place.
      if (own === null || own.parts.agent !== undefined || asked.has(key)) continue;
      asked.set(key, { player, environment: own.environment, call: this.#resetOf(player) });
    }
    const byKey = new Map<string, Outcome>();
    await Promise.all([...asked].map(async ([key, one]) => {
      byKey.set(key, await this.#ask(one));
    }));
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
        // Where the start has failed, or is an agent's, there may be nothing to show.
        const isShown = player.stop === null && own?.parts.agent === undefined;
        const text = isShown ? observation : "-";
        const entry = withObservation(start.entry, text, player.shownTools);
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
        ...players.map((player) =>
          this.#promptTokens(player) - prompts.prompt(player.start.entry).ids.length
        ),
      );
    }
    const { own, error } = this.#players[0]!;
    throw cannotBegin(own!.environment, error);
  }

  /** The tokens of the prompt, or the most that an agent's may have. */
  #promptTokens({ own, prompt }: Player): number {
    const agent = own?.parts.agent;
    return agent === undefined ? prompt.ids.length : longestPrompt(agent, this.options);
  }

  #resetOf(player: Player): EnvironmentCall {
    const { entry, promptId } = player.start, index = entry.metadata["source_index"];
    const example = typeof index === "number" ? index : promptId;
    return { call: "reset", row: rowOf(entry), seed: this.#seedOf(player), example };
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

  /** Plays all dialogues to their ends. */
  async play(): Promise<void> {
    const { maxTokens, limits: { max_turn_tokens: most } } = this.options;
    const isOpen = (player: Player) => player.stop === null && this.#hasRoom(player);
    const { open = [], over = [] } = Object.groupBy(
      this.#players,
      (player) => isOpen(player) ? "open" : "over",
    );
    const room = {
      prompts: open.map((player) => this.#promptTokens(player)),
      tokens: maxTokens,
      turnTokens: Math.min(maxTokens, most ?? Infinity),
    };
    const { agents = [], others = [] } = Object.groupBy(
      open,
      ({ own }) => own?.parts.agent === undefined ? "others" : "agents",
    );
    const groups = [...Map.groupBy(others, ({ prompt }) => prompt).values()];
    await Promise.all(over.map((player) => this.#judge(player)));
    if (open.length === 0) return;
    await this.options.generate(
      room,
      (ask) =>
        Promise.all([
          ...groups.map((players) => this.#playGroup(players, ask)),
          ...agents.map((player) => this.#playAgent(player, ask)),
        ]),
    );
  }

  /** Plays a dialogue that an agent leads: what it asks is the reply to the answer before. */
  async #playAgent(player: Player, ask: Ask): Promise<void> {
    const { environment, parts } = player.own!, { place } = player;
    const chat = player.chat = new AgentChat({ ...this.options, ...parts.agent!, ...place });
    for (let call = this.#resetOf(player); player.stop === null;) {
      const outcome = await this.#ask({ player, environment, call, number: chat.refused });
      if ("error" in outcome) return player.end(outcome.late ? "timeout" : "error", outcome.error);
      // Before its first request it may have waited for a place.
      if (call.call === "reset") player.began = performance.now();
      player.take(environment, outcome);
      if (outcome.done) player.end("done");
      const refusal = outcome.done ? null : chat.take(outcome.content);
      const isOver = outcome.done || chat.isLost || refusal === null && !this.#hasRoom(player);
      if (isOver || !await this.#inTime(player)) break;
      const { message, reply } = refusal === null
        ? await this.#answerAgent(player, chat, ask)
        : { message: { role: "error", content: "" }, reply: refusal };
      call = { call: "step", message, reply, state: player.states.get(environment)! };
    }
    await this.#judge(player);
    if (chat.isLost) player.end("error", `it asked what is refused: ${chat.fault}`);
  }

  /** Lets the model answer what an agent has asked. */
  async #answerAgent(player: Player, chat: AgentChat, ask: Ask) {
    const { prompts, maxTokens, limits: { max_turn_tokens: most } } = this.options;
    const { ids: promptIds, row, next } = chat.asked!, { start, branch } = player;
    player.messages.push(...chat.begin());
    player.prompt = chat.rows[0]!.prompt;
    player.add("environment", next);
    if (player.turns > 0) player.userTurns++;
    const firstPosition = player.length,
      left = Math.min(maxTokens - firstPosition, most ?? Infinity);
    const [completion] = await ask({
      promptId: start.promptId,
      promptIds,
      n: 1,
      firstBranch: branch,
      answers: answerSpans(row),
      ...(firstPosition > 0 && { firstPosition }),
      sampling: chat.sampling(left),
    }) as [Completion];
    player.add("model", completion.ids, completion.logprobs);
    player.turns++;
    player.text = prompts.text(completion.ids);
    const answer = chat.answer(completion);
    player.messages.push(answer.message);
    return answer;
  }

  /** Plays dialogues with the same prompt, which is computed once for their first answers. */
  async #playGroup(players: readonly Player[], ask: Ask): Promise<void> {
    const runs: Player[][] = [];
    for (const player of players) {
      const last = runs.at(-1) ?? [];
      if (!await this.#inTime(player)) await this.#judge(player);
      else if (last.at(-1)?.branch === player.branch - 1) last.push(player);
      else runs.push([player]);
    }
    await Promise.all(runs.map(async (run) => {
      const began: Promise<void>[] = [];
      const begin = (i: number, answer: Completion) => {
        began[i] ??= this.#goOn(run[i]!, answer, ask);
        began[i].catch(() => {}); // it is awaited below
      };
      const request = { ...this.#request(run[0]!), n: run.length, onBranch: begin };
      (await ask(request)).forEach((answer, i) => begin(i, answer));
      await Promise.all(began);
    }));
  }

  /** Plays a dialogue from its first answer to its end. */
  async #goOn(player: Player, first: Completion, ask: Ask): Promise<void> {
    for (let answer = first;;) {
      this.#takeAnswer(player, answer);
      // A message about a call that cannot be read is the reply to its answer.
      if (player.stop === null && player.messages.at(-1)!.role === "assistant") {
        await (player.asks.length > 0 ? this.#run(player) : this.#step(player));
      }
      if (player.stop !== null || !this.#hasRoom(player) || !await this.#inTime(player)) break;
      [answer] = await ask(this.#request(player)) as [Completion];
    }
    await this.#judge(player);
  }

  /** Whether there is room for a further answer. */
  #hasRoom(player: Player): boolean {
    const { maxTokens, maxPositions, limits } = this.options, asked = player.chat?.asked;
    const { max_assistant_turns: most, max_user_turns: mostReplies } = limits;
    // What an agent asks may bring tokens, and need not go on with the first prompt.
    const length = player.length + (asked?.next.length ?? 0);
    const all = asked?.ids.length ?? player.prompt.ids.length + length;
    const isSaid = asked != null && mostReplies !== null && player.turns > mostReplies;
    if (isSaid || most !== null && player.turns >= most) player.end("max_turns");
    else if (length >= maxTokens) player.end("length");
    else if (all >= maxPositions) player.end("context_overflow");
    return player.stop === null;
  }

  /** Whether there is time for a further answer. */
  async #inTime(player: Player): Promise<boolean> {
    const { limits: { rollout_timeout_s: seconds }, transcript, scene = "" } = this.options;
    if (seconds === null) return true;
    const error = `it took more than ${seconds} s`;
    const place = { scene, ...player.place, number: 0 }, call = { call: "clock" as const };
    const known = transcript?.find(place, call) ?? null;
    const isLate = known === null
      ? performance.now() - player.began > seconds * 1000
      : known.outcome !== null;
    if (isLate) player.end("timeout", error);
    if (known === null) {
      await transcript?.add(place, call, { error, late: true }, null, !isLate);
    }
    return !isLate;
  }

  /** What the model is asked for: an answer to all that the dialogue has. */
  #request(player: Player): GenerateRequest {
    const { prompt, length, start, branch } = player;
    const { maxTokens, limits: { max_turn_tokens: most } } = this.options, isFirst = length === 0;
    const maxNewTokens = Math.min(maxTokens - length, most ?? Infinity);
    return {
      promptId: start.promptId,
      promptIds: isFirst ? prompt.ids : [...prompt.ids, ...idsOf(player)],
      n: 1,
      firstBranch: branch,
      answers: answerSpans(player),
      ...(isFirst ? {} : { firstPosition: length }),
      ...(isFirst && most === null ? {} : { sampling: { maxNewTokens } }),
    };
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

  /** Runs the calls of tools in their order. */
  async #run(player: Player): Promise<void> {
    const { max_tool_calls: most, max_tool_calling_iterations: rounds } = this.options.limits;
    const messages: ChatMessage[] = [];
    player.calls += player.asks.length;
    const isOver = rounds !== null && player.iterations >= rounds ||
      most !== null && player.calls > most;
    if (isOver) player.end("max_tool_calls");
    player.iterations++;
    for (let k = 0; k < player.asks.length && player.stop === null; k++) {
      messages.push(await this.#runCall(player, k));
    }
    if (player.stop === null) this.#say(player, messages);
  }

  /** Runs call number `k` of an answer, and returns its result for the model. */
  async #runCall(player: Player, k: number): Promise<ChatMessage> {
    const { limits } = this.options, { name, arguments: args } = player.asks[k]!.function;
    const answer = (content: string, failed: boolean) => {
      player.count(name, failed);
      const { max_tool_response_length: length, tool_response_truncate_side: side } = limits;
      return { role: "tool", name, content: shortened(content, length, side) };
    };
    const fail = (error: string) => answer(JSON.stringify({ error }), true);
    const owner = findTool(player.parts, name), { max_parallel_calls: most } = limits;
    if (most !== null && k >= most) return fail(`Only ${most} calls are run in one answer.`);
    if (owner === null) return fail(`Tool ${name} not found.`);
    const wrong = wrongArguments(args, owner.tool), { environment } = owner;
    if (wrong !== null) return fail(wrong);
    const state = player.states.get(environment) ?? {};
    const call = { call: "run", tool: name, args, state } as const;
    const outcome = await this.#ask({ player, environment, call, number: k });
    if ("error" in outcome) {
      if (outcome.state !== undefined) player.states.set(environment, outcome.state);
      if (outcome.late) player.end("timeout", outcome.error);
      return fail(outcome.error);
    }
    player.take(environment, outcome);
    if (outcome.done) player.end("done");
    return answer(outcome.content, false);
  }

  /** The reply of the environment's `step` to an answer. */
  async #step(player: Player): Promise<void> {
    const { environment } = player.own!, { max_user_turns: most } = this.options.limits;
    const message = player.messages.at(-1)!, state = player.states.get(environment)!;
    const outcome = await this.#ask({
      player,
      environment,
      call: { call: "step", message, state },
    });
    if ("error" in outcome) return player.end(outcome.late ? "timeout" : "error", outcome.error);
    player.take(environment, outcome);
    if (outcome.done) player.end("done");
    else if (most !== null && player.userTurns >= most) player.end("max_turns");
    else this.#say(player, [{ role: "user", content: outcome.content }]);
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
   * The outcome of a call. A call whose outcome is in the transcript is not sent again. One that
   * the transcript has without an outcome is sent without a limit of time.
   */
  async #ask({ player, environment, call, number = 0 }: Asked): Promise<Outcome> {
    const { limits: { tool_timeout_s: limit }, transcript, scene = "" } = this.options;
    const place = { scene, ...player.place, number };
    const known = transcript?.find(place, call, environment) ?? null;
    if (known?.outcome != null) return known.outcome;
    const [outcome] = await environment.answer([call], known === null ? limit : ANY_TIME);
    if (this.hasEnded) await new Promise(() => {});
    if (known === null) await transcript?.add(place, call, outcome!, environment);
    else transcript!.compare(place, call, environment, outcome!);
    return outcome!;
  }

  /** Asks for the last reward of a dialogue that has ended. */
  async #judge(player: Player): Promise<void> {
    const { own, states, stop } = player;
    if (own?.parts.reward !== true || stop === "error") return;
    const { environment } = own, state = states.get(environment) ?? {};
    const outcome = await this.#ask({ player, environment, call: { call: "reward", state } });
    if ("error" in outcome) Object.assign(player, { stop: "error", error: outcome.error });
    else player.take(environment, outcome);
  }

  /** @throws RgxError when the environment has failed in all dialogues, unless it may */
  end(): Dialogue[][] {
    const failed = this.#players.filter(({ stop }) => stop === "error");
    const isLost = failed.length === this.#players.length && failed.length > 0;
    if (isLost && !this.options.mayFail) {
      const { own, error } = failed[0]!;
      throw new RgxError(`the environment ${own?.environment.name} failed: ${error}`, {
        ...(own?.parts.agent === undefined && { advice: CHECK_ADVICE }),
      });
    }
    const dialogues = this.#players.map((player) => this.#dialogue(player));
    return this.starts.map(({ branches }) => dialogues.splice(0, branches));
  }

  #dialogue(player: Player): Dialogue {
    const { prompt, segments, messages, text, error, turns, userTurns, tools, metrics } = player;
    const { rows = [] } = player.chat ?? {};
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
      ...(rows.length > 1 && { rows }),
      messages,
      text: player.judged ?? text,
      truncated: isCut,
      // The model is not to blame for an error of the environment.
      reward: stop === "error" || player.own === null && !player.hasReward ? null : graded,
      about: { stop, error, turns, userTurns, turnRewards, tools, metrics },
    };
  }
}
