/** Environments and tools that a program answers for, in any language, by JSON-RPC lines. */
import { messageOf, RgxError, UsageError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { Late } from "../../time_limit.ts";
import type {
  Environment,
  EnvironmentCall,
  EnvironmentParts,
  Outcome,
  State,
  Tool,
} from "../environment.ts";
import { type Era, McpClient, readTool, textOfResult } from "./mcp_client.ts";
import { NO_METHOD, type Params, type Peer, RpcError } from "./rpc_process.ts";
import {
  type BareCall,
  failure,
  NOTHING,
  readSaid,
  type Said,
  type Session,
  sessionEnvironment,
} from "./session_environment.ts";

/** Seconds for finding out what a program has, which may have much to load. */
const START_SECONDS = 60;
/** Seconds for ending a session that nobody asks any more. */
const CLOSE_SECONDS = 10;

/** Number of sessions that were begun; names the next one. */
let sessions = 0;

interface Found {
  era: Era;
  parts: EnvironmentParts;
  /** It has sessions: it answers `env/reset`. */
  hasSessions: boolean;
}

/**
 * @param title what it is, for messages: the command or the address
 * @param connect called for each worker, and again when one has ended
 * @param isMcp it is a server of MCP, which has tools alone
 */
export function rpcEnvironment(
  name: string,
  title: string,
  connect: () => Peer,
  { workers: count = 1, isMcp = false }: { workers?: number; isMcp?: boolean } = {},
): Environment {
  let found: Found | null = null;
  const workers = Array.from({ length: count }, () =>
    new Worker(async () => {
      const peer = connect();
      try {
        return await McpClient.connect(peer, found!.era);
      } catch (error) {
        await peer.close({ atOnce: true });
        throw error;
      }
    }));
  const look = async (): Promise<Found> => {
    if (found !== null) return found;
    const seen = await lookedAt(title, connect, isMcp), { step, tools } = seen.parts;
    if (step || tools.length > 0) return found = seen;
    throw new UsageError(`${title}: it has neither env/step nor tools, so nothing answers`);
  };
  const inSessions = sessionEnvironment(name, {
    open: async () => (await look()).parts,
    begin: () => begin(workers, found!.parts.tools),
    async close() {
      await Promise.all(workers.map((worker) => worker.end()));
      for (const worker of workers) worker.sessions = 0;
    },
  });
  return {
    ...inSessions,
    async answer(calls, seconds) {
      if ((await look()).hasSessions) return await inSessions.answer(calls, seconds);
      return await Promise.all(calls.map((call) => answerByTool(workers, call, seconds)));
    },
    stateAfter: (call, said) =>
      found?.hasSessions === false ? stateOf(call) : inSessions.stateAfter!(call, said),
  };
}

/** Starts it once, and finds out what it has. @throws UsageError for what cannot be used */
async function lookedAt(title: string, connect: () => Peer, isMcp: boolean): Promise<Found> {
  const peer = connect();
  try {
    const own = isMcp ? null : await foundSessions(peer);
    if (own !== null) return own;
    const client = await McpClient.connect(peer);
    const parts = { step: false, reward: false, tools: await client.tools() };
    return { era: client.era, hasSessions: false, parts };
  } catch (error) {
    if (!(error instanceof RgxError) || error instanceof UsageError) throw error;
    throw new UsageError(`${title}: it cannot be used: ${messageOf(error)}`, {
      advice: "It answers JSON-RPC: tools/list, tools/call, env/reset, env/step, env/close. " +
        "rgx env new --python FILE.py writes a program to begin with.",
      cause: error,
    });
  } finally {
    await peer.close();
  }
}

/** What a program with `env/reset` has; null: it is a server of MCP alone. */
async function foundSessions(peer: Peer): Promise<Found | null> {
  let client = new McpClient(peer, { kind: "bare" });
  const session = "start", start = { session, row: {}, seed: 0, example: 0 };
  let reset = await tried(client, "env/reset", start);
  if (reset instanceof RgxError) {
    if (lacksMethod(reset)) return null;
    // It may want the handshake first, or another row.
    const known = await McpClient.connect(peer).catch((error) => error);
    if (known instanceof McpClient) {
      client = known;
      reset = await tried(client, "env/reset", start);
      if (reset instanceof RgxError) return null;
    } else if (!(reset instanceof RpcError) || peer.ended !== null) throw reset;
  }
  const isBegun = !(reset instanceof RgxError);
  const listed = await client.tools().catch((error) => {
    if (error instanceof RpcError) return [];
    throw error;
  });
  const tools = [...listed, ...isBegun ? toolsOf(reset as Params) : []];
  const parts = { step: true, reward: true, tools };
  if (tools.length > 0) {
    const message = { role: "assistant", content: "" };
    parts.step = isBegun && !lacksMethod(await tried(client, "env/step", { session, message }));
  }
  if (isBegun) await tried(client, "env/close", { session });
  return { era: client.era, hasSessions: true, parts };
}

async function tried(client: McpClient, method: string, params: Params) {
  return await client.request(method, params, START_SECONDS).catch((error) => {
    if (error instanceof RgxError) return error;
    throw error;
  });
}

function lacksMethod(found: unknown): boolean {
  return found instanceof RpcError && found.code === NO_METHOD;
}

function toolsOf({ tools }: Params): Tool[] {
  return Array.isArray(tools) ? tools.map(readTool) : [];
}

function begin(workers: readonly Worker[], known: readonly Tool[]): Session {
  const worker = leastBusy(workers), session = `s${++sessions}`;
  let client: McpClient | null = null, isOpen = true;
  worker.sessions++;
  const end = () => {
    if (isOpen) worker.sessions--;
    isOpen = false;
  };
  const ask = async (call: BareCall, seconds: number): Promise<Said> => {
    const request = async (method: string, params: Params) => {
      const result = await client!.request(method, params, seconds);
      const other = result["session"] ?? metaOf(result)["rgx/session"] ?? session;
      if (other === session) return result;
      throw new RgxError(`${method}: the answer is for session ${other}, expected ${session}`);
    };
    switch (call.call) {
      case "reset": {
        const { row, seed, example } = call;
        const result = await request("env/reset", { session, row, seed, example });
        const other = toolsOf(result).find(({ name }) => known.every((tool) => tool.name !== name));
        if (other === undefined) return readSaid(result, "env/reset");
        throw new RgxError(`env/reset: the tool ${other.name} was not there at the start of rgx`);
      }
      case "step":
        return readSaid(await request("env/step", { session, message: call.message }), "env/step");
      case "run":
        return saidByTool(
          await request("tools/call", {
            name: call.tool,
            arguments: call.args,
            _meta: { "rgx/session": session },
          }),
        );
      case "reward": {
        end();
        return readSaid(await request("env/close", { session }), "env/close");
      }
    }
  };
  return {
    get isGone() {
      return client !== null && !worker.isOn(client);
    },
    ask: (call, seconds) =>
      worker.run((on) => {
        client = on;
        return ask(call, seconds);
      }, client),
    leave() {
      if (isOpen && client !== null) {
        const close = (on: McpClient) => on.request("env/close", { session }, CLOSE_SECONDS);
        worker.run(close, client).catch(() => {});
      }
      end();
    },
  };
}

async function answerByTool(
  workers: readonly Worker[],
  call: EnvironmentCall,
  seconds: number,
): Promise<Outcome> {
  const state = stateOf(call);
  if (call.call !== "run") return { ...NOTHING, state };
  const params = { name: call.tool, arguments: call.args };
  try {
    const result = await leastBusy(workers).run((client) =>
      client.request("tools/call", params, seconds)
    );
    const { hasFailed = false, ...said } = saidByTool(result);
    return hasFailed ? { error: said.content } : { ...said, state };
  } catch (error) {
    return failure(error);
  }
}

function stateOf(call: EnvironmentCall): State {
  return call.call === "reset" ? {} : call.state;
}

function metaOf({ _meta: meta }: Params): Params {
  return isRecord(meta) ? meta : {};
}

/** The result of a tool, with a reward and an end in `_meta`. */
function saidByTool(result: Params): Said {
  const meta = metaOf(result);
  const about = {
    observation: textOfResult(result),
    reward: meta["rgx/reward"],
    done: meta["rgx/done"],
    metrics: meta["rgx/metrics"],
  };
  return { ...readSaid(about, "tools/call"), hasFailed: result["isError"] === true };
}

/** A connection for one call at a time, made when it is needed, and again when it has ended. */
export class Worker {
  #client: McpClient | null = null;
  #last: Promise<unknown> = Promise.resolve();
  waiting = 0;
  sessions = 0;

  constructor(private readonly connect: () => Promise<McpClient>) {}

  /**
   * Does some work with the connection, after the work before.
   * @param on the only connection that will do
   * @throws what `work` throws; Late ends the connection; RgxError when `on` has ended
   */
  async run<T>(
    work: (client: McpClient) => Promise<T>,
    on: McpClient | null = null,
  ): Promise<T> {
    const before = this.#last, { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    this.waiting++;
    await before;
    try {
      if (on !== null && !this.isOn(on)) throw new RgxError("its program was started again");
      if (this.#client === null || this.#client.peer.ended !== null) {
        await this.end();
        this.#client = await this.connect();
      }
      return await work(this.#client);
    } catch (error) {
      // It may be busy with the call for ever.
      if (error instanceof Late) await this.end({ atOnce: true });
      throw error;
    } finally {
      this.waiting--;
      resolve();
    }
  }

  /** Whether this is its connection, and can be used. */
  isOn(client: McpClient): boolean {
    return client === this.#client && client.peer.ended === null;
  }

  async end(options?: { atOnce?: boolean }): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close(options);
  }
}

/** The worker with the least to do, the first among equals. */
export function leastBusy(workers: readonly Worker[]): Worker {
  return workers.reduce((best, one) =>
    one.sessions + one.waiting < best.sessions + best.waiting ? one : best
  );
}
