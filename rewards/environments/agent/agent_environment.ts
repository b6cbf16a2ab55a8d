/**
 * An environment that is an agent: a program in any language that asks the model by OpenAI's API.
 * For each dialogue it is started once, with an address and a key of its own. What it asks is the
 * reply of the environment to the answer before, so a transcript has all of it. It ends the
 * dialogue when it ends; the last line of its stdout may be a JSON object with its reward.
 */
import { RgxError } from "../../../core/errors.ts";
import { jsonObjectOrNull } from "../../../core/json_file.ts";
import { LineProcess } from "../../../core/machine/line_process.ts";
import { runningTimeout } from "../../../core/machine/running_time.ts";
import { Limiter } from "../../../core/remote/limiter.ts";
import { Late } from "../../time_limit.ts";
import type { Environment } from "../environment.ts";
import {
  type BareCall,
  NOTHING,
  readSaid,
  type Said,
  type Session,
  sessionEnvironment,
} from "../wire/session_environment.ts";
import { AgentPort, refusal, type Waiting } from "./agent_port.ts";

/** Seconds for the first request, before which a program may have much to load. */
const START_SECONDS = 60;
/** Seconds in which an agent may end whose dialogue a limit has ended. */
const END_SECONDS = 10;

/** @param options.most agents at the same time; the others wait for their turn */
export function agentEnvironment(
  name: string,
  command: readonly string[],
  { most, maxPromptTokens }: { most: number; maxPromptTokens: number },
): Environment {
  const port = new AgentPort(), places = new Limiter(most), agents = new Set<Agent>();
  return sessionEnvironment(name, {
    async open() {
      // A program that does not exist is found before the model is loaded.
      await new LineProcess(command.slice(0, 1), () => {}).close({ atOnce: true });
      return { step: true, reward: true, tools: [], agent: { maxPromptTokens } };
    },
    begin: () => {
      const agent = new Agent(command, port, places, () => agents.delete(agent));
      agents.add(agent);
      return agent;
    },
    async close() {
      await Promise.all([...agents].map((agent) => agent.abandon()));
      await port.close();
    },
  });
}

class Agent implements Session {
  /** One that has ended is not started again: its exit code is its result. */
  readonly isGone = false;
  readonly #key = `rgx-${crypto.randomUUID()}`;
  readonly #requests: Waiting[] = [];
  #process: LineProcess | null = null;
  #lastLine = "";
  #asked: Waiting | null = null;
  #hasAsked = false;
  /** Of its place among the agents that run; null: it has none. */
  #ticket: number | null = null;
  #isOver = false;
  /** Called when something has happened that may be waited for. */
  #wake = () => {};
  /** Ends a wait, so that it never is over. */
  #drop = () => {};

  constructor(
    private readonly command: readonly string[],
    private readonly port: AgentPort,
    private readonly places: Limiter,
    private readonly forget: () => void,
  ) {}

  async ask(call: BareCall, seconds: number): Promise<Said> {
    switch (call.call) {
      case "reset":
        this.#ticket = await this.places.acquire();
        if (this.#isOver) await this.#forEver();
        this.#start(call);
        return await this.#next(Math.max(seconds, START_SECONDS));
      case "step":
        if (call.reply === undefined) throw new RgxError("only training and bench play agents");
        this.#asked?.answer(call.reply);
        return await this.#next(seconds);
      case "reward":
        return await this.#end(seconds);
      case "run":
        throw new RgxError("an agent has no tools");
    }
  }

  leave(): void {
    void this.#stop();
  }

  /** Ends it for a run that stops; what it was asked stays without an answer. */
  async abandon(): Promise<void> {
    this.#drop();
    await this.#stop();
  }

  #start({ row, seed, example }: BareCall & { call: "reset" }): void {
    const env = this.port.admit(this.#key, (request) => {
      this.#hasAsked = true;
      this.#requests.push(request);
      this.#wake();
    });
    this.#process = new LineProcess(
      this.command,
      (lines, ended) => {
        this.#lastLine = lines.findLast((line) => line.trim() !== "") ?? this.#lastLine;
        // What it prints does not make its time longer.
        if (ended !== null) this.#wake();
      },
      false,
      env,
    );
    this.#process.send(JSON.stringify({ row, seed, example }));
    this.#process.endInput();
  }

  /** Waits for its next request, or its end. @throws Late; RgxError when it has failed */
  async #next(seconds: number): Promise<Said> {
    this.#asked = null;
    const isOver = () => this.#process?.ended != null || this.#isOver;
    while (this.#requests[0]?.hasLeft) this.#requests.shift();
    if (this.#requests.length === 0 && !isOver() && !await this.#wait(seconds)) {
      const what = this.#hasAsked ? "did not ask again, or end," : "asked nothing";
      throw new Late(`the agent ${what} within ${seconds} s`);
    }
    this.#asked = this.#requests.shift() ?? null;
    if (this.#asked !== null) return { ...NOTHING, content: this.#asked.body };
    await this.#stop();
    const { ended, exitCode } = this.#process!;
    if (exitCode !== 0) throw new RgxError(`the agent failed: ${ended}`);
    if (!this.#hasAsked) throw new RgxError("the agent ended without asking the model");
    return this.#result();
  }

  /** Its last line, where that is an object; else nothing. */
  #result(): Said {
    const last = jsonObjectOrNull(this.#lastLine) ?? {}, { reward, metrics, answer } = last;
    const said = readSaid({ reward, metrics }, "the agent's last line");
    return { ...said, done: true, ...(typeof answer === "string" && { judged: answer }) };
  }

  /** Tells it that a limit has ended the dialogue, and waits for its end. */
  async #end(seconds: number): Promise<Said> {
    if (this.#process === null) await this.#stop();
    if (this.#isOver) return NOTHING;
    const why = "the dialogue has ended, by a limit of its run";
    this.#refuse(why);
    const most = Math.min(seconds, END_SECONDS), begin = performance.now();
    // However often it asks.
    while (this.#process?.ended == null && performance.now() - begin < most * 1000) {
      if (!await this.#wait(most)) break;
      this.#refuse(why);
    }
    const hasEnded = this.#process?.exitCode === 0;
    await this.#stop();
    return hasEnded ? this.#result() : NOTHING;
  }

  /** Refuses all that it has asked, unless it was answered already. */
  #refuse(why: string): void {
    const over = refusal(400, why, "dialogue_ended");
    for (const request of this.#requests.splice(0)) request.answer(over);
    this.#asked?.answer(over);
  }

  /** Waits until something happens. @returns false: nothing has, in so many seconds */
  async #wait(seconds: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = runningTimeout(() => resolve(false), seconds * 1000);
    this.#wake = () => resolve(true);
    this.#drop = () => {
      stop();
      this.#wake = () => {};
    };
    return await promise.finally(stop);
  }

  /** For what nobody waits any more. */
  async #forEver(): Promise<void> {
    this.#leavePlace();
    await new Promise(() => {});
  }

  async #stop(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.port.forget(this.#key);
    this.forget();
    this.#refuse("the dialogue has ended");
    await this.#process?.close({ atOnce: true });
    this.#leavePlace();
  }

  #leavePlace(): void {
    if (this.#ticket !== null) this.places.release(this.#ticket, "good");
    this.#ticket = null;
  }
}
