/** Reads the body of a request within limits of size and time, and its JSON. */
import { messageOf } from "../core/errors.ts";
import { ApiError, badRequest } from "./api_error.ts";
import { Fields } from "./fields.ts";

export interface BodyLimits {
  /** Maximum number of bytes. */
  maxBytes: number;
  /** Seconds in which the whole body must have come. */
  seconds: number;
}

/**
 * The fields of a JSON body.
 * @param signal ends the reading
 * @throws ApiError 400, 408 or 413
 */
export async function readFields(
  request: Request,
  { maxBytes, seconds }: BodyLimits,
  signal: AbortSignal,
): Promise<Fields> {
  const stated = Number(request.headers.get("content-length") ?? 0);
  if (stated > maxBytes) throw tooLarge(maxBytes);
  const packing = request.headers.get("content-encoding") ?? "identity";
  if (packing !== "identity") {
    throw badRequest(`the body is packed (content-encoding: ${packing}): send it as it is`);
  }
  const slow = new AbortController();
  const timer = setTimeout(() =>
    slow.abort(
      new ApiError(408, "invalid_request_error", `the body did not come within ${seconds} s`, {
        headers: { connection: "close" },
      }),
    ), seconds * 1000);
  try {
    const bytes = await readBytes(request, maxBytes, AbortSignal.any([signal, slow.signal]));
    return Fields.of(parse(bytes));
  } finally {
    clearTimeout(timer);
  }
}

async function readBytes(
  request: Request,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader(), pieces: Uint8Array[] = [];
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  );
  aborted.catch(() => {});
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(cut), aborted]);
      if (done) break;
      size += value.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      pieces.push(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function cut(error: unknown): never {
  throw badRequest(`the body was cut off: ${messageOf(error)}`);
}

function parse(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("the body is not UTF-8");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is not JSON: ${messageOf(error)}`);
  }
}

function tooLarge(maxBytes: number): ApiError {
  const message = `the body is larger than ${maxBytes} bytes`;
  return new ApiError(413, "invalid_request_error", message, { headers: { connection: "close" } });
}
