/**
 * An environment whose dialogues have a place at the other end, a session. The state of a dialogue
 * is what was asked so far, with a hash of each answer. A call goes to a session in which just that
 * was asked. If there is none, because its program has died, or because several dialogues share
 * their beginning, a new session is asked all of it again. The answers must be the same then.
 */
import { messageOf, RgxError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { fnv1a } from "../../../core/philox.ts";
import type {
  Environment,
  EnvironmentCall,
  EnvironmentParts,
  Outcome,
  Reply,
  State,
} from "../environment.ts";
import { Late } from "../../time_limit.ts";
import { boundedText } from "./mcp_client.ts";
import { RpcError } from "./rpc_process.ts";

export type Said = Omit<Reply, "state"> & {
  /** The call of a tool has failed; the content says why. */
  hasFailed?: boolean;
};

export type BareCall = WithoutState<EnvironmentCall>;
type WithoutState<Call> = Call extends EnvironmentCall ? Omit<Call, "state"> : never;

export interface Session {
  /** Its program or its connection has ended; it answers no more. */
  readonly isGone: boolean;
  /** @throws RpcError for an error of the environment; Late; RgxError */
  ask(call: BareCall, seconds: number): Promise<Said>;
  /** Ends it, if it has not answered "reward". */
  leave(): void;
}

export interface SessionHost {
  open(): Promise<EnvironmentParts>;
  begin(): Session;
  close(): Promise<void>;
}

/** What was asked in a session, with hashes of the answers. */
type History = readonly (readonly [call: BareCall, answer: string])[];

/** Seconds for calls that are asked again: they have been in time before. */
const AGAIN_SECONDS = 600;

/** @param options.asksForEnd a session must hear of its end, and may give a reward then */
export function sessionEnvironment(
  name: string,
  host: SessionHost,
  { asksForEnd = true } = {},
): Environment {
  const live = new Map<string, Session[]>();
  const keyOf = (history: History) => JSON.stringify(history);
  const keep = (history: History, session: Session) => {
    const key = keyOf(history);
    live.set(key, [...live.get(key) ?? [], session]);
  };
  /** A session with this history that still answers; null: there is none. */
  const taken = (history: History): Session | null => {
    const key = keyOf(history), sessions = live.get(key) ?? [];
    while (sessions.length > 0) {
      const session = sessions.pop()!;
      if (sessions.length === 0) live.delete(key);
      if (!session.isGone) return session;
      session.leave();
    }
    return null;
  };
  const askedAgain = async (history: History): Promise<Session> => {
    const session = host.begin();
    try {
      for (const [i, [call, answer]] of history.entries()) {
        const said = await answered(session, call, AGAIN_SECONDS);
        if (hashOf(said) !== answer) throw new OtherAnswer(i + 1, call, said);
      }
      return session;
    } catch (error) {
      session.leave();
      throw error;
    }
  };
  const answer = async (asked: EnvironmentCall, seconds: number): Promise<Outcome> => {
    const history = historyOf(asked), call = bare(asked);
    if (call.call === "reward" && !asksForEnd) {
      taken(history)?.leave();
      return { ...NOTHING, state: { asked: history } };
    }
    // A program that has died answers after it was started again, unless this call ends it again.
    for (let attempt = 1;; attempt++) {
      let session: Session | null = null;
      try {
        session = taken(history) ?? await askedAgain(history);
        const said = await answered(session, call, seconds);
        const after: History = [...history, [call, hashOf(said)]], state = { asked: after };
        // What has ended needs no place at the other end, unless it is asked for more.
        if (said.done && !asksForEnd) session.leave();
        else if (call.call !== "reward") keep(after, session);
        const { hasFailed = false, ...reply } = said;
        return hasFailed ? { error: said.content, state } : { ...reply, state };
      } catch (error) {
        const outcome = failure(error);
        if (session?.isGone && attempt === 1 && !outcome.late) continue;
        session?.leave();
        return outcome;
      }
    }
  };
  return {
    name,
    isSteady: false,
    open: () => host.open(),
    answer: async (calls, seconds) => await Promise.all(calls.map((call) => answer(call, seconds))),
    stateAfter: (call, said) => ({ asked: [...historyOf(call), [bare(call), hashOf(said)]] }),
    async close() {
      live.clear();
      await host.close();
    },
  };
}

/** An answer that differs from the one that the same call had before. */
class OtherAnswer extends RgxError {
  constructor(number: number, call: BareCall, { content }: Said) {
    super(
      `it answers differently when a dialogue is played again: exchange ${number}, ` +
        `${describeCall(call)}, gives ${JSON.stringify(content.slice(0, 200))} now`,
    );
  }
}

export function describeCall(call: BareCall | EnvironmentCall): string {
  switch (call.call) {
    case "reset":
      return `reset with seed ${call.seed}`;
    case "step":
      return `step ${JSON.stringify(call.message.content.slice(0, 200))}`;
    case "run":
      return `${call.tool} ${JSON.stringify(call.args).slice(0, 200)}`;
    case "reward":
      return "reward";
  }
}

/** An answer; an error that a tool has answered is a text for the model. */
async function answered(session: Session, call: BareCall, seconds: number): Promise<Said> {
  try {
    return await session.ask(call, seconds);
  } catch (error) {
    if (call.call !== "run" || !(error instanceof RpcError)) throw error;
    return { ...NOTHING, content: error.message, hasFailed: true };
  }
}

export const NOTHING: Said = { content: "", reward: null, done: false, metrics: {} };

function hashOf(said: Outcome | Said): string {
  const { content, reward, done, metrics } = "error" in said
    ? { ...NOTHING, content: said.error }
    : said;
  return fnv1a(JSON.stringify([content, reward, done, metrics])).toString(36);
}

function bare({ ...call }: EnvironmentCall): BareCall {
  delete (call as { state?: State }).state;
  return call as BareCall;
}

function historyOf(call: EnvironmentCall): History {
  return call.call === "reset" ? [] : (call.state["asked"] ?? []) as History;
}

/** The observation is a text or a list of messages. @throws RgxError for another form */
export function readSaid(
  { observation, reward, done, metrics }: Record<string, unknown>,
  what: string,
): Said {
  const wrong = (field: string, value: unknown, expected: string) => {
    const found = JSON.stringify(value).slice(0, 200);
    throw new RgxError(`${what}: ${field} is ${found}, expected ${expected}`);
  };
  const content = observation ?? "";
  const messages = Array.isArray(content) ? content : [{ content }];
  for (const message of messages) {
    if (isRecord(message) && typeof message["content"] === "string") continue;
    wrong("observation", observation, "a text or a list of messages");
  }
  const given = reward ?? null, isOver = done ?? false, numbers = metrics ?? {};
  if (given !== null && !Number.isFinite(given)) wrong("reward", reward, "a number or null");
  if (typeof isOver !== "boolean") wrong("done", done, "true or false");
  if (!isRecord(numbers) || !Object.values(numbers).every(Number.isFinite)) {
    wrong("metrics", metrics, "an object of numbers");
  }
  return {
    content: boundedText(messages.map((message) => message.content).join("\n\n")),
    reward: given as number | null,
    done: isOver as boolean,
    metrics: numbers as Record<string, number>,
  };
}

/** An error as an outcome. @throws what is no error for users */
export function failure(error: unknown): { error: string; late?: boolean } {
  if (!(error instanceof RgxError)) throw error;
  return error instanceof Late ? { error: error.message, late: true } : { error: messageOf(error) };
}
