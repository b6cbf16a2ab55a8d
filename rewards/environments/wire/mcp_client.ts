/**
 * The Model Context Protocol, as far as tools need it: with a handshake, as up to 2025-11-25, or
 * with the version in each request, as from 2026-07-28 on.
 */
import { RgxError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { VERSION } from "../../../core/version.ts";
import { MAX_CONTENT, type Tool, truncated } from "../environment.ts";
import { type Params, type Peer, RpcError } from "./rpc_process.ts";

/** The newest version of each form. */
const MODERN = "2026-07-28", HANDSHAKE = "2025-11-25";
const CLIENT = { name: "rgx", version: VERSION };
/** Errors by which a server of the newer form is known. */
const MODERN_ERRORS = [-32020, -32021, -32022];

/** Seconds for the first answer of a server, which may have much to load, and for further ones. */
const PROBE_SECONDS = 30, START_SECONDS = 60;
const MAX_PAGES = 100;

/** How a server is spoken to: a version, by handshake or in each request, or neither. */
export type Era = { kind: "modern" | "handshake"; version: string } | { kind: "bare" };

export class McpClient {
  constructor(readonly peer: Peer, readonly era: Era) {}

  /**
   * Finds out how the server is spoken to, and makes the handshake if it has one.
   * @param known how it was spoken to before it was started again
   * @throws RgxError when it does not speak MCP
   */
  static async connect(peer: Peer, known: Era | null = null): Promise<McpClient> {
    const found = known === null ? await probed(peer) : known.kind === "handshake" ? null : known;
    return new McpClient(peer, found ?? await handshake(peer));
  }

  async request(method: string, params: Params, seconds: number): Promise<Record<string, unknown>> {
    const result = await this.peer.request(
      method,
      this.era.kind === "modern" ? modernParams(params, this.era.version) : params,
      seconds,
    );
    if (!isRecord(result)) throw new RgxError(`${method}: the result is no object`);
    if (result["resultType"] === "input_required") {
      throw new RgxError(`${method}: the server asks for input, which nobody can give here`);
    }
    return result;
  }

  /** @throws RgxError for tools that cannot be shown to a model */
  async tools(): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.request("tools/list", params, START_SECONDS);
      const { tools: listed, nextCursor } = result;
      if (!Array.isArray(listed)) throw new RgxError("tools/list: the result has no list of tools");
      tools.push(...listed.map(readTool));
      if (typeof nextCursor !== "string") return tools;
      cursor = nextCursor;
    }
    throw new RgxError(`tools/list: more than ${MAX_PAGES} pages of tools`);
  }

  async close(options?: { atOnce?: boolean }): Promise<void> {
    await this.peer.close(options);
  }
}

function modernParams(params: Params, version: string): Params {
  return {
    ...params,
    _meta: {
      ...params["_meta"] as object | undefined,
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": CLIENT,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
}

/** The version of a server without a handshake; null: it has one. */
async function probed(peer: Peer): Promise<Era | null> {
  try {
    const result = await peer.request("server/discover", modernParams({}, MODERN), PROBE_SECONDS);
    const versions = isRecord(result) ? result["supportedVersions"] : undefined;
    return Array.isArray(versions) ? modern(versions) : null;
  } catch (error) {
    // Whatever else it answers, or if it is silent: it waits for the handshake.
    if (!(error instanceof RpcError) || !MODERN_ERRORS.includes(error.code)) {
      if (peer.ended !== null) throw error;
      return null;
    }
    return modern(isRecord(error.data) ? error.data["supported"] : []);
  }
}

/** null: only older versions are supported, those with a handshake. */
function modern(versions: unknown): Era | null {
  const all = Array.isArray(versions) ? versions : [];
  if (all.includes(MODERN)) return { kind: "modern", version: MODERN };
  if (all.some((version) => typeof version === "string" && version <= HANDSHAKE)) return null;
  throw new RgxError(
    `the server speaks MCP's versions ${all.join(", ") || "(none)"}; rgx speaks ${MODERN}, and ` +
      `those up to ${HANDSHAKE}`,
  );
}

async function handshake(peer: Peer): Promise<Era> {
  const params = { protocolVersion: HANDSHAKE, capabilities: {}, clientInfo: CLIENT };
  const result = await peer.request("initialize", params, START_SECONDS);
  const version = isRecord(result) ? result["protocolVersion"] : undefined;
  if (typeof version !== "string" || version > HANDSHAKE) {
    throw new RgxError(`initialize: the version is ${version}, expected one up to ${HANDSHAKE}`);
  }
  peer.notify("notifications/initialized");
  return { kind: "handshake", version };
}

/** A tool of `tools/list`, or of OpenEnv, which has another name for the schema. */
export function readTool(value: unknown): Tool {
  const { name, description = "", inputSchema, input_schema: other } = isRecord(value) ? value : {};
  if (typeof name !== "string" || name === "") throw new RgxError("a tool has no name");
  const schema = inputSchema ?? other ?? { type: "object" };
  if (!isRecord(schema)) throw new RgxError(`the tool ${name}: its schema is no object`);
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: { type: "object", properties: {}, ...schema },
  };
}

/** The text of a tool's result that a model reads. */
export function textOfResult({ content, structuredContent }: Record<string, unknown>): string {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  const texts = blocks.flatMap(({ type, text, resource, uri }) => {
    const inner = type === "resource" && isRecord(resource) ? resource["text"] : text;
    if (typeof inner === "string") return [inner];
    return [typeof uri === "string" ? uri : `(${String(type)})`];
  });
  const isEmpty = texts.length === 0 && structuredContent !== undefined;
  return boundedText(isEmpty ? JSON.stringify(structuredContent) : texts.join("\n"));
}

/** A text of bounded length, in which all characters are whole. */
export function boundedText(text: string): string {
  return truncated(text, MAX_CONTENT, "middle").toWellFormed();
}
