/**
 * Environments of OpenEnv servers: a WebSocket for each dialogue. They have tools, or actions of a
 * JSON schema. Then the model reads the observation and the schema, and answers with JSON, or with
 * plain text where one field is required.
 */
import { messageOf, RgxError, UsageError } from "../../../core/errors.ts";
import { isRecord, jsonObjectOrNull } from "../../../core/json_file.ts";
import { inTime, Late } from "../../time_limit.ts";
import type { Environment, EnvironmentParts } from "../environment.ts";
import { boundedText, readTool, textOfResult } from "./mcp_client.ts";
import { type Params, RpcError } from "./rpc_process.ts";
import {
  type BareCall,
  NOTHING,
  readSaid,
  type Said,
  type Session,
  sessionEnvironment,
  type SessionHost,
} from "./session_environment.ts";

/** Seconds for a connection, as OpenEnv's client has. */
const CONNECT_SECONDS = 10;
const LOOK_SECONDS = 60;
/** Seconds that a dialogue waits for a place on a server that has no more. */
const PLACE_SECONDS = 600;
/** Milliseconds between two tries of that, and without a call until an idle place is taken. */
const TRY_MS = 100;
/** Columns of a row that are rgx's own. */
const OWN_COLUMNS = ["source_dataset", "source_index", "sample_start", "messages"];

/** @param address `ws://HOST:PORT` */
export function openEnvEnvironment(name: string, address: string): Environment {
  return sessionEnvironment(name, new OpenEnvHost(address), { asksForEnd: false });
}

/** A connection, which is a dialogue. */
class Connection {
  readonly #socket: WebSocket;
  readonly #open = Promise.withResolvers<void>();
  #waiting: { resolve(message: Params): void; reject(error: Error): void } | null = null;
  #gone: string | null = null;
  /** A message that came before it was asked for: the server has no place. */
  #early: Params | null = null;
  isBusy = false;
  /** It has a place on the server: it was answered. */
  hasPlace = false;
  usedAt = performance.now();

  constructor(address: string) {
    const socket = this.#socket = new WebSocket(address);
    this.#open.promise.catch(() => {});
    socket.onopen = () => this.#open.resolve();
    socket.onerror = (event) =>
      this.#end(`no connection: ${(event as ErrorEvent).message || "refused"}`);
    socket.onclose = () => this.#end("the server has closed the connection");
    socket.onmessage = ({ data }) => {
      const message = messageIn(data);
      if (message === null) return this.#end("the server sent what is no message of OpenEnv");
      if (this.#waiting === null) this.#early ??= message;
      else this.#waiting.resolve(message);
      this.#waiting = null;
    };
  }

  get isGone(): boolean {
    return this.#gone !== null;
  }

  #end(why: string): void {
    this.#gone ??= why;
    this.#open.reject(new RgxError(why));
    this.#waiting?.reject(new RgxError(why));
    this.#waiting = null;
    if (this.#socket.readyState <= WebSocket.OPEN) this.#socket.close();
  }

  /** @throws RpcError for an error that was answered; Late; RgxError */
  async ask(type: string, data: Params, seconds: number): Promise<Params> {
    this.isBusy = true;
    try {
      await inTime(this.#open.promise, CONNECT_SECONDS, "answer to a connection");
      const answer = Promise.withResolvers<Params>();
      if (this.#early !== null) answer.resolve(this.#early);
      else if (this.#gone !== null) throw new RgxError(this.#gone);
      else {
        this.#waiting = answer;
        this.#socket.send(JSON.stringify({ type, data }));
      }
      const message = await inTime(answer.promise, seconds, `answer to ${type}`);
      const said = isRecord(message["data"]) ? message["data"] : {};
      if (message["type"] !== "error") {
        this.hasPlace = true;
        return said;
      }
      throw new OpenEnvError(String(said["message"] ?? "error"), String(said["code"] ?? ""), said);
    } catch (error) {
      // After a time limit, the next message would be the answer to this one.
      if (error instanceof Late) this.#end("an answer was late");
      throw error;
    } finally {
      this.isBusy = false;
      this.usedAt = performance.now();
    }
  }

  close(): void {
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ type: "close" }));
    }
    this.#end("it was closed");
  }
}

class OpenEnvError extends RpcError {
  constructor(message: string, readonly kind: string, data: Params) {
    super(message, 0, data);
  }
}

class OpenEnvHost implements SessionHost {
  readonly #address: URL;
  readonly #connections = new Set<Connection>();
  #action: Params = {};
  #hasTools = false;
  #closings = 0;

  constructor(address: string) {
    const url = this.#address = new URL(address);
    url.protocol = url.protocol.replace(/^http/, "ws");
    if (url.pathname === "/") url.pathname = "/ws";
  }

  async open(): Promise<EnvironmentParts> {
    const http = new URL("schema", this.#address);
    http.protocol = http.protocol.replace(/^ws/, "http");
    try {
      // A server need not have this page.
      const signal = AbortSignal.timeout(CONNECT_SECONDS * 1000);
      const schemas = await fetch(http, { signal }).then((response) => response.json());
      if (isRecord(schemas) && isRecord(schemas["action"])) this.#action = schemas["action"];
    } catch {
      // The model gets no schema then.
    }
    const connection = new Connection(this.#address.href);
    try {
      const list = { type: "list_tools" };
      const { observation } = await connection.ask("step", list, LOOK_SECONDS)
        .catch((error) => {
          if (error instanceof OpenEnvError && error.kind !== "CAPACITY_REACHED") return error;
          throw error;
        }) as Params;
      const listed = isRecord(observation) ? observation["tools"] : undefined;
      const tools = Array.isArray(listed) ? listed.map(readTool) : [];
      this.#hasTools = tools.length > 0;
      return { step: !this.#hasTools, reward: true, tools };
    } catch (error) {
      throw new UsageError(`${this.#address.href}: it cannot be used: ${messageOf(error)}`, {
        advice: "The address is that of an OpenEnv server, such as ws://127.0.0.1:8000. A server " +
          "of MCP is {mcp: {url: …}}.",
        cause: error,
      });
    } finally {
      connection.close();
    }
  }

  begin(): Session {
    let connection = this.#connect();
    const ask = async (call: BareCall, seconds: number): Promise<Said> => {
      switch (call.call) {
        case "reset": {
          const columns = Object.entries(call.row).filter(([name]) => !OWN_COLUMNS.includes(name));
          const data = { ...Object.fromEntries(columns), seed: call.seed }, given = this.#closings;
          for (const began = performance.now();;) {
            try {
              const said = saidIn(await connection.ask("reset", data, seconds));
              const schema = this.#schemaText;
              return { ...said, content: [said.content, schema].filter(Boolean).join("\n\n") };
            } catch (error) {
              if (!(error instanceof OpenEnvError) || error.kind !== "CAPACITY_REACHED") {
                throw error;
              }
              this.#leave(connection);
              if (performance.now() - began > PLACE_SECONDS * 1000 || given !== this.#closings) {
                throw new RgxError(`no place on the server: ${error.message}`);
              }
              await this.#place();
              connection = this.#connect();
            }
          }
        }
        case "step": {
          const action = actionIn(call.message.content, this.#action);
          const text = `The answer is no action. ${this.#schemaText}`;
          return action === null
            ? { ...NOTHING, content: text.trim() }
            : saidIn(await wrongAction(connection.ask("step", action, seconds)));
        }
        case "run": {
          const action = { type: "call_tool", tool_name: call.tool, arguments: call.args };
          return saidByTool(await connection.ask("step", action, seconds));
        }
        case "reward":
          return NOTHING;
      }
    };
    return {
      get isGone() {
        return connection.isGone;
      },
      ask,
      leave: () => this.#leave(connection),
    };
  }

  #connect(): Connection {
    const connection = new Connection(this.#address.href);
    this.#connections.add(connection);
    return connection;
  }

  #leave(connection: Connection): void {
    connection.close();
    this.#connections.delete(connection);
  }

  /**
   * Waits for a place on the server. If all of this program's dialogues there wait for others, the
   * one that has waited for longest gives its place away, and is played again later.
   */
  async #place(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
    for (const one of this.#connections) if (one.isGone) this.#connections.delete(one);
    const all = [...this.#connections].filter(({ hasPlace }) => hasPlace),
      last = Math.max(...all.map(({ usedAt }) => usedAt));
    if (all.length === 0 || all.some(({ isBusy }) => isBusy)) return;
    if (performance.now() - last < TRY_MS) return;
    this.#leave(all.reduce((oldest, one) => one.usedAt < oldest.usedAt ? one : oldest));
  }

  /** What the model is told of its actions; nothing where there are tools. */
  get #schemaText(): string {
    const { properties } = this.#action;
    if (this.#hasTools || !isRecord(properties)) return "";
    const { metadata: _, ...own } = properties;
    const { required = [] } = this.#action;
    const schema = JSON.stringify({ type: "object", properties: own, required });
    return `Answer with JSON of this schema: ${schema}`;
  }

  close(): Promise<void> {
    this.#closings++;
    for (const connection of [...this.#connections]) this.#leave(connection);
    return Promise.resolve();
  }
}

/** A message of a server; null: it is none. */
function messageIn(data: unknown): Params | null {
  const message = typeof data === "string" ? jsonObjectOrNull(data) : null;
  return typeof message?.["type"] === "string" ? message : null;
}

/** An action that the server refuses is told to the model. */
async function wrongAction(answer: Promise<Params>): Promise<Params> {
  return await answer.catch((error) => {
    if (!(error instanceof OpenEnvError) || error.kind !== "VALIDATION_ERROR") throw error;
    const { errors = error.message } = error.data as Params;
    return { observation: { error: errors } };
  });
}

/** The action in an answer of the model; null: there is none. */
export function actionIn(text: string, schema: Params): Params | null {
  const fenced = /```(?:json)?\s*\n?(.*?)```/s.exec(text)?.[1];
  const braced = /\{.*\}/s.exec(text)?.[0];
  for (const part of [text, fenced, braced]) {
    const value = part === undefined ? null : jsonObjectOrNull(part);
    if (value !== null) return value;
  }
  const { required, properties } = schema;
  if (!Array.isArray(required) || required.length !== 1) return null;
  const [field] = required as [string];
  const kind = isRecord(properties) && isRecord(properties[field])
    ? properties[field]["type"]
    : "string";
  if (kind === "string" || kind === undefined) return { [field]: text.trim() };
  const number = Number(text.trim());
  const isNumeric = kind === "integer" || kind === "number";
  return isNumeric && text.trim() !== "" && Number.isFinite(number) ? { [field]: number } : null;
}

/** An observation as a text: its only text, or JSON. */
function saidIn({ observation, reward, done }: Params): Said {
  const fields = isRecord(observation)
    ? Object.entries(observation).filter(([, value]) => value !== null)
    : [];
  const only = fields.length === 1 ? fields[0]![1] : observation;
  const content = typeof only === "string"
    ? only
    : fields.length === 0
    ? ""
    : JSON.stringify(Object.fromEntries(fields));
  return readSaid({ observation: content, reward, done }, "observation");
}

function saidByTool({ observation, reward, done }: Params): Said {
  const { result, error } = isRecord(observation) ? observation : { result: observation };
  const { message } = isRecord(error) ? error : { message: error };
  const isFailed = error !== null && error !== undefined;
  const content = isFailed
    ? String(message)
    : typeof result === "string"
    ? result
    : isRecord(result) && Array.isArray(result["content"])
    ? textOfResult(result)
    : JSON.stringify(result ?? null);
  const said = readSaid({ observation: boundedText(content), reward, done }, "call_tool");
  return { ...said, hasFailed: isFailed || isRecord(result) && result["is_error"] === true };
}
