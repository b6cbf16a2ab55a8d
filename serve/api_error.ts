/** Refusals in the form of the OpenAI API, and how errors of the program become such answers. */
import { RgxError } from "../core/errors.ts";

export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "server_error";

export interface ErrorDetails {
  /** The field of the request that is wrong. */
  param?: string;
  code?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Maximum length of a message: what it quotes from a request may be as long as the request. */
const MAX_MESSAGE = 1000;

/** An answer other than 200. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly type: ErrorType,
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message);
  }

  /** The body of the answer. */
  get body(): { error: Record<"message" | "type" | "param" | "code", string | null> } {
    const { message, type, details: { param = null, code = null } } = this;
    return { error: { message, type, param, code } };
  }
}

/** 400: the request is wrong. @param param the field that is wrong */
export function badRequest(message: string, param?: string | undefined, code?: string): ApiError {
  return new ApiError(400, "invalid_request_error", message, {
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  });
}

/** 404: there is no such model. */
export function modelNotFound(name: string): ApiError {
  const message = `the model ${JSON.stringify(name)} does not exist; GET /v1/models lists them`;
  return new ApiError(404, "not_found_error", message, { param: "model", code: "model_not_found" });
}

/** 503: the server ends, or is not ready. */
export function unavailable(message: string): ApiError {
  return new ApiError(503, "server_error", message, { headers: { "retry-after": "5" } });
}

/**
 * The error that a client gets. A defect of the program is reported without its details, which go
 * to `onDefect`.
 */
export function asApiError(error: unknown, onDefect: (error: unknown) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RgxError) {
    const { message, advice } = error;
    return badRequest(advice === undefined ? message : `${message} (${advice})`);
  }
  if (error instanceof RangeError && /call stack/.test(error.message)) {
    return badRequest("the body has values in values, too deep");
  }
  onDefect(error);
  return new ApiError(500, "server_error", "internal error; the server's log has more");
}

/** Unix time in seconds. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}
