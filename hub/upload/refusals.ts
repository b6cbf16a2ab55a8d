/** What the server's refusals of an upload mean, and what to do about them. */
import { RgxError } from "../../core/errors.ts";
import { shown } from "../file_names.ts";
import { HttpStatus, type Request } from "../refusal.ts";

/** The error of an upload that has failed. */
export function uploadRefusal(error: unknown, { settings, repository }: Request): unknown {
  const cause = (error as { cause?: unknown }).cause;
  const refused = error instanceof HttpStatus ? error : cause instanceof HttpStatus ? cause : null;
  const { endpoint, tokenPath } = settings, { name } = repository;
  if (refused === null) {
    if (!(error instanceof RgxError) || !/cannot be reached/.test(error.message)) return error;
    // The advice of a download (to copy the cache) does not help here.
    return new RgxError(error.message, {
      advice: "Is there a network? HTTPS_PROXY names a proxy. What was sent is kept by the " +
        "server; the same command goes on from there.",
      cause: error,
    });
  }
  const { status } = refused;
  const said = refused.message === "" ? "" : `: ${shown(refused.message)}`;
  const page = `${endpoint}/settings/tokens`;
  const [what, advice] = isQuota(refused)
    ? [
      `over the quota of the account (${status})${said}`,
      `Free some space on ${endpoint}/settings/storage, upload less (--optimizer-save-mode none), ` +
      "or make the repository public, where that gives more space.",
    ]
    : status === 401
    ? [
      `the token is refused (401)${said}`,
      `The token of HF_TOKEN or ${tokenPath} was sent; ${page} shows whether it is valid.`,
    ]
    : status === 403
    ? [
      `the token may not write there (403)${said}`,
      `${page} shows what it may do: it needs the right to write to ${name}.`,
    ]
    : status === 404
    ? [
      `there is no such repository or branch of models (404)${said}`,
      `Check the name on ${endpoint}/${name}; a data set or a space can not take a model.`,
    ]
    : status === 409 || status === 412
    ? [
      `somebody else changed the repository meanwhile (${status})${said}`,
      "The same command tries again; what was sent is kept by the server.",
    ]
    : status === 400 || status === 422
    ? [`${endpoint} refuses the upload (${status})${said}`, "The message is the server's."]
    : [
      `${endpoint} answers ${status}${said}`,
      "Try again later; what was sent is kept by the server.",
    ];
  return new RgxError(`${name}: ${what}`, { advice, cause: error });
}

function isQuota({ status, message }: HttpStatus): boolean {
  return status === 402 || status === 413 || status === 507 ||
    status === 403 && /quota|storage|limit|payment|exceed/i.test(message);
}
