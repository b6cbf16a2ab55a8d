/**
 * Turns failed requests to the Hub into messages that say what to do: which page to visit, which
 * variable to set, and how to continue without a network.
 */
import { EXIT, RgxError, UsageError } from "../core/errors.ts";
import { isCertificateError, networkReason, TimedOut } from "../core/remote/http.ts";
import { cacheFolderName } from "./cache.ts";
import { shown } from "./file_names.ts";
import { addressOf, type Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

export class HttpStatus extends Error {
  constructor(
    readonly status: number,
    /** The Hub's error code: RepoNotFound, GatedRepo, RevisionNotFound, EntryNotFound. */
    readonly code: string | null,
    message: string,
    /** Milliseconds that the server asks to wait. */
    readonly delay: number | null,
  ) {
    super(message);
  }
}

export interface Target {
  readonly settings: HubSettings;
  readonly repository: Repository;
  readonly revision: string;
}

/**
 * The error of a request that has failed for good.
 * @param file null = the repository itself, such as the list of its files
 * @param attempts how often it was sent
 */
export function refusal(
  error: unknown,
  target: Target,
  file: string | null,
  attempts: number,
): unknown {
  if (error instanceof RgxError) return error;
  if (error instanceof HttpStatus) return statusRefusal(error, target, file, attempts);
  if (!(error instanceof TimedOut || error instanceof TypeError)) return error;
  const { settings } = target, reason = networkReason(error);
  const hint = isCertificateError(reason)
    ? "SSL_CERT_FILE names a file with the certificate of your proxy's or mirror's authority. "
    : "Is there a network? HTTPS_PROXY names a proxy, HF_ENDPOINT a mirror of the Hub. ";
  return new RgxError(
    `${subject(target, file)}: ${settings.endpoint} cannot be reached: ${reason}${tries(attempts)}`,
    { advice: hint + withoutNetwork(target), cause: error },
  );
}

function statusRefusal(
  error: HttpStatus,
  target: Target,
  file: string | null,
  attempts: number,
): RgxError {
  const { settings, repository, revision } = target, what = subject(target, file);
  const { status, code } = error, { name, kind } = repository;
  const page = `${settings.endpoint}/${addressOf(repository)}`;
  const serverMessage = error.message === "" ? "" : `: ${shown(error.message)}`;
  const way = withoutNetwork(target), options = { cause: error };
  if (code === "GatedRepo") {
    return new RgxError(
      `${what}: access is gated: its owners ask to accept conditions first (${status})${
        settings.token === null ? ", and no token was sent" : ""
      }`,
      {
        ...options,
        advice: `Accept the conditions on ${page}. ${tokenAdvice(settings)} ${way}`,
      },
    );
  }
  if (code === "RevisionNotFound") {
    return new UsageError(`${name}: there is no revision ${shown(revision)} (${status})`, {
      ...options,
      advice: `${page}/tree/main lists the branches; a commit is 40 hexadecimal digits. ${way}`,
    });
  }
  if (code === "EntryNotFound" || status === 404 && file !== null && code !== "RepoNotFound") {
    return new RgxError(`${what}: there is no such file (${status})`, {
      ...options,
      advice: `${page}/tree/${revision} lists the files. ${way}`,
    });
  }
  const isWrongToken = /invalid (?:credentials|username|user|token)/i.test(error.message);
  if (settings.token !== null && status === 401 && isWrongToken) {
    return new RgxError(`${what}: the token is refused (401)${serverMessage}`, {
      ...options,
      advice: tokenAdvice(settings),
    });
  }
  if (code === "RepoNotFound" || [401, 403, 404].includes(status)) {
    const other = kind === "model"
      ? `rgx pull --dataset ${name}, if it is a data set`
      : `rgx pull ${name}, if it is a model`;
    const found = status === 404
      ? `there is no such ${KINDS[kind]} on ${settings.endpoint} (404)`
      : `not there, private or gated (${status}${
        settings.token === null ? ", no token was sent" : ""
      })`;
    return new RgxError(`${what}: ${found}${status === 404 ? "" : serverMessage}`, {
      exitCode: status === 404 ? EXIT.usage : EXIT.failure,
      advice: `Check the name on ${page} (${other}). If it is private or gated: ${
        tokenAdvice(settings)
      } ${way}`,
      ...options,
    });
  }
  return new RgxError(
    `${what}: ${settings.endpoint} answers ${status}${serverMessage}${tries(attempts)}`,
    { ...options, advice: `Try again later; what is downloaded is kept. ${way}` },
  );
}

const KINDS = { model: "model", dataset: "data set" } as const;

function subject({ repository }: Target, file: string | null): string {
  return file === null ? repository.name : `${repository.name}: ${file}`;
}

function tokenAdvice({ endpoint, token, tokenPath }: HubSettings): string {
  return token === null
    ? `Make a token on ${endpoint}/settings/tokens and set HF_TOKEN to it ` +
      `(or write it to ${tokenPath}).`
    : `The token of HF_TOKEN or ${tokenPath} was sent: ` +
      `${endpoint}/settings/tokens shows what it may read.`;
}

/** The advice for a machine that cannot reach the Hub. */
export function withoutNetwork({ settings, repository }: Omit<Target, "revision">): string {
  return `Without the Hub: copy ${cacheFolderName(repository)} from the cache of a machine that ` +
    `has it into ${settings.cache}, or give the path of a folder with the files.`;
}

function tries(attempts: number): string {
  return attempts > 1 ? ` (${attempts} attempts)` : "";
}
