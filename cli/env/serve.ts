/**
 * `rgx env serve`: an environment as a server of OpenEnv. Each WebSocket is a dialogue. Actions are
 * those of OpenEnv's tools, and `{"message": TEXT}` for an environment with `step`.
 */
import { messageOf } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { callerMistake } from "../../core/remote/callers.ts";
import { VERSION } from "../../core/version.ts";
import type {
  Environment,
  EnvironmentCall,
  EnvironmentParts,
  Reply,
  State,
} from "../../rewards/environments/environment.ts";
import type { FlagsOf } from "../flags.ts";
import { listenOn, stopSignal } from "../signals.ts";
import { log, print } from "../terminal/terminal.ts";
import { whichEnvironment } from "./which_environment.ts";

const PORT = 8000, SESSIONS = 100;
const TIMEOUT = 30;

export async function serveEnvironment(
  file: string,
  options: FlagsOf<"ENV_SERVE">,
): Promise<void> {
  const { host = "127.0.0.1", port = PORT, maxSessions = SESSIONS } = options;
  const environment = await whichEnvironment(file, options.name);
  try {
    const parts = await environment.open();
    const sessions = new Sessions(environment, parts, maxSessions, host);
    const server = listenOn(host, port, (request) => sessions.respond(request), (error) => {
      log(`internal error: ${messageOf(error)}`);
      return new Response("internal error", { status: 500 });
    });
    const end = stopSignal(); // before the address is printed: whoever reads it may send a signal
    print(`ws://${server.address}`);
    log("Serves the environment as OpenEnv does; Ctrl-C ends it.");
    await end;
    sessions.close();
    await server.close();
  } finally {
    await environment.close();
  }
}

/** An error of OpenEnv, with its code. */
class Refusal extends Error {
  constructor(readonly code: string, message: string, readonly more: object = {}) {
    super(message);
  }
}

type Data = Record<string, unknown>;

/** A dialogue that a client plays. */
class Session {
  #state: State | null = null;
  #done = false;
  #steps = 0;
  #episode = "";

  constructor(
    private readonly environment: Environment,
    private readonly parts: EnvironmentParts,
    private readonly nextSeed: () => number,
  ) {}

  async reset({ seed = this.nextSeed(), episode_id, ...row }: Data): Promise<Data> {
    if (!Number.isSafeInteger(seed)) {
      throw new Refusal("VALIDATION_ERROR", "seed: expected a whole number");
    }
    this.#episode = typeof episode_id === "string" ? episode_id : crypto.randomUUID();
    this.#steps = 0;
    this.#done = false;
    const number = seed as number;
    const reply = await this.#ask({ call: "reset", row, seed: number, example: number });
    return observed({ message: reply.content }, { ...reply, reward: null });
  }

  async step(action: Data): Promise<Data> {
    const { tools, step } = this.parts;
    if (action["type"] === "list_tools" && (tools.length > 0 || !step)) {
      const shown = tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      }));
      return { observation: { tools: shown }, reward: null, done: false };
    }
    if (action["type"] === "call_tool" && tools.length > 0) return await this.#callTool(action);
    const { message } = action;
    if (!step || typeof message !== "string") {
      const expected = step ? '{"message": TEXT}' : "list_tools or call_tool";
      throw new Refusal("VALIDATION_ERROR", `the action: expected ${expected}`, { errors: [] });
    }
    const said = { role: "assistant", content: message };
    const reply = await this.#ask({ call: "step", message: said, state: this.#begun() });
    this.#steps++;
    return observed({ message: reply.content }, await this.#judged(reply));
  }

  async #callTool({ tool_name: tool, arguments: given = {} }: Data): Promise<Data> {
    const failed = (error_type: string, message: string) =>
      observed({ tool_name: tool, result: null, error: { error_type, message } });
    if (!this.parts.tools.some(({ name }) => name === tool)) {
      return failed("tool_not_found", `Tool ${tool} not found.`);
    }
    if (!isRecord(given)) return failed("invalid_args", "arguments: expected an object");
    // Tools alone need no start.
    if (!this.parts.step && this.#state === null) await this.reset({});
    const state = this.#begun();
    this.#steps++;
    try {
      const reply = await this.#ask({ call: "run", tool: tool as string, args: given, state });
      const { content: text } = reply;
      const content = [{ type: "text", text }];
      const result = { content, structured_content: null, data: text, is_error: false };
      return observed({ tool_name: tool, result, error: null }, await this.#judged(reply));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return failed("execution_error", error.message);
    }
  }

  get state(): Data {
    return { episode_id: this.#episode, step_count: this.#steps };
  }

  #begun(): State {
    if (this.#state === null) throw new Refusal("EXECUTION_ERROR", "reset comes first");
    if (this.#done) throw new Refusal("EXECUTION_ERROR", "the dialogue has ended: reset it");
    return this.#state;
  }

  async #ask(call: EnvironmentCall): Promise<Reply> {
    const [outcome] = await this.environment.answer([call], TIMEOUT);
    if ("error" in outcome!) {
      if (outcome.state !== undefined) this.#state = outcome.state;
      throw new Refusal("EXECUTION_ERROR", outcome.error);
    }
    this.#state = outcome!.state;
    return outcome!;
  }

  /** A reply with the reward of the end in addition, if this is the end. */
  async #judged(reply: Reply): Promise<Reply> {
    if (!reply.done) return reply;
    this.#done = true;
    if (!this.parts.reward) return reply;
    const { reward } = await this.#ask({ call: "reward", state: reply.state });
    return reward === null ? reply : { ...reply, reward: (reply.reward ?? 0) + reward };
  }

  /** The answer to a message of a WebSocket; null ends it. */
  async answer(message: Data): Promise<Data | null> {
    const data = isRecord(message["data"]) ? message["data"] : {};
    switch (message["type"]) {
      case "reset":
        return { type: "observation", data: await this.reset(data) };
      case "step":
        return { type: "observation", data: await this.step(data) };
      case "state":
        return { type: "state", data: this.state };
      case "mcp":
        return { type: "mcp", data: await this.mcp(data) };
      case "close":
        return null;
      default:
        throw new Refusal("UNKNOWN_TYPE", `Unknown message type: ${message["type"]}`);
    }
  }

  /** JSON-RPC for the tools. */
  async mcp({ id = null, method, params }: Data): Promise<Data> {
    const { name, arguments: args } = isRecord(params) ? params : {};
    const rpc = (answer: Data) => ({ jsonrpc: "2.0", id, ...answer });
    if (method === "tools/list") {
      const tools = this.parts.tools.map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      }));
      return rpc({ result: { tools } });
    }
    if (method !== "tools/call") {
      return rpc({ error: { code: -32601, message: `Method not found: ${method}` } });
    }
    const { observation } = await this.#callTool({ tool_name: name, arguments: args });
    const { result, error } = observation as { result: Data; error: Data | null };
    return rpc(
      error === null ? { result } : { error: { code: -32603, message: error["message"] } },
    );
  }
}

function observed(
  observation: Data,
  { reward = null, done = false }: Partial<Pick<Reply, "reward" | "done">> = {},
): Data {
  return { observation, reward, done };
}

export class Sessions {
  readonly #sockets = new Set<WebSocket>();
  #seed = 0;

  constructor(
    private readonly environment: Environment,
    private readonly parts: EnvironmentParts,
    private readonly most: number,
    private readonly hostname: string,
  ) {}

  async respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url), { method } = request;
    const mistake = callerMistake(request.headers, { hostname: this.hostname, cors: null }, "");
    if (mistake !== null) return new Response(mistake, { status: 403 });
    if (pathname === "/ws" && request.headers.get("upgrade")?.toLowerCase() === "websocket") {
      return this.#socket(request);
    }
    if (method === "GET") {
      const page = this.#page(pathname);
      return page === null ? new Response("not found", { status: 404 }) : Response.json(page);
    }
    if (method !== "POST" || !["/reset", "/step"].includes(pathname)) {
      return new Response("not found", { status: 404 });
    }
    try {
      const body = JSON.parse(await request.text() || "{}"), session = this.#session();
      if (pathname === "/reset") return Response.json(await session.reset(body));
      // Only a WebSocket keeps a dialogue, as at OpenEnv's servers.
      if (this.parts.step) await session.reset({});
      return Response.json(await session.step(isRecord(body.action) ? body.action : {}));
    } catch (error) {
      const status = error instanceof Refusal && error.code === "EXECUTION_ERROR" ? 500 : 422;
      return Response.json({ detail: messageOf(error) }, { status });
    }
  }

  #page(path: string): Data | null {
    const { name } = this.environment, { step } = this.parts;
    const text = { type: "object", properties: { message: { type: "string" } } };
    switch (path) {
      case "/health":
        return { status: "healthy" };
      case "/metadata":
        return { name, description: `${name}, served by rgx ${VERSION}`, version: VERSION };
      case "/state":
        return this.#session().state;
      case "/schema":
        return {
          action: step ? { ...text, required: ["message"] } : TOOL_ACTION,
          observation: text,
          state: { type: "object", properties: {} },
        };
      default:
        return null;
    }
  }

  #session(): Session {
    return new Session(this.environment, this.parts, () => this.#seed++);
  }

  #socket(request: Request): Response {
    const { socket, response } = Deno.upgradeWebSocket(request), session = this.#session();
    const send = (message: Data) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    };
    const isFull = this.#sockets.size >= this.most;
    if (isFull) {
      socket.onopen = () => {
        const about = { active_sessions: this.#sockets.size, max_sessions: this.most };
        send(failure("CAPACITY_REACHED", `all ${this.most} sessions are in use`, about));
        socket.close();
      };
      return response;
    }
    this.#sockets.add(socket);
    // One message after the other.
    let last: Promise<void> = Promise.resolve();
    const take = async (data: unknown) => {
      let message: unknown;
      try {
        message = JSON.parse(String(data));
      } catch (error) {
        return send(failure("INVALID_JSON", `Invalid JSON: ${messageOf(error)}`));
      }
      try {
        const answer = await session.answer(isRecord(message) ? message : {});
        if (answer === null) socket.close();
        else send(answer);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        send(failure(error.code, error.message, error.more));
      }
    };
    socket.onmessage = ({ data }) => last = last.then(() => take(data));
    socket.onclose = () => this.#sockets.delete(socket);
    socket.onerror = () => this.#sockets.delete(socket);
    return response;
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }
}

const TOOL_ACTION = {
  type: "object",
  properties: {
    type: { type: "string", enum: ["list_tools", "call_tool"] },
    tool_name: { type: "string" },
    arguments: { type: "object" },
  },
  required: ["type"],
};

function failure(code: string, message: string, more: object = {}): Data {
  return { type: "error", data: { message, code, ...more } };
}
