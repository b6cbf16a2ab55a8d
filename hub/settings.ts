/**
 * Settings of the Hub from the environment: address, cache, token, offline mode, time-outs. The
 * variables and their precedence are those of huggingface_hub, so both programs use the same cache
 * and token.
 */
import { UsageError } from "../core/errors.ts";

export type Environment = (name: string) => string | undefined;

export interface HubSettings {
  /** Without a slash at the end. */
  readonly endpoint: string;
  readonly cache: string;
  readonly token: string | null;
  /** The file that a token is read from; it may not exist. */
  readonly tokenPath: string;
  /** The variable that forbids all connections; null = connections are allowed. */
  readonly offline: string | null;
  /** Milliseconds without a response after which a request for metadata fails. */
  readonly metadataTimeout: number;
  /** Milliseconds without new bytes after which the connection of a download counts as broken. */
  readonly downloadTimeout: number;
  /** Whether files of a snapshot are links to the blobs, if the file system supports links. */
  readonly symlinks: boolean;
  readonly progress: boolean;
  /** File with additional certificates of authorities. */
  readonly certificates: string | null;
}

const PUBLIC_HUB = "https://huggingface.co";

const processEnvironment: Environment = (name) => Deno.env.get(name);

/** @throws UsageError for an invalid address or number, or without a place for the cache */
export async function hubSettings(env: Environment = processEnvironment): Promise<HubSettings> {
  const cache = hubCache(env), home = hubHome(env);
  if (cache === null || home === null) {
    throw new UsageError("the folder of the Hub's cache is not known: there is no home folder", {
      advice: "Set HF_HOME to a folder that may be written to.",
    });
  }
  const tokenPath = expand(env("HF_TOKEN_PATH"), env) ?? `${home}/token`;
  const offline = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"]
    .find((name) => isTrue(env(name))) ?? null;
  return {
    endpoint: endpointOf(env),
    cache,
    token: isTrue(env("HF_HUB_DISABLE_IMPLICIT_TOKEN")) ? null : await tokenOf(env, tokenPath),
    tokenPath,
    offline,
    metadataTimeout: seconds("HF_HUB_ETAG_TIMEOUT", env) * 1000,
    downloadTimeout: seconds("HF_HUB_DOWNLOAD_TIMEOUT", env) * 1000,
    symlinks: !isTrue(env("HF_HUB_DISABLE_SYMLINKS")),
    progress: !isTrue(env("HF_HUB_DISABLE_PROGRESS_BARS")),
    certificates: env("SSL_CERT_FILE") || null,
  };
}

/** Folder of the cache; null when no variable names it and there is no home folder. */
export function hubCache(env: Environment = processEnvironment): string | null {
  for (const name of ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"]) {
    const folder = expand(env(name), env);
    if (folder !== null) return folder;
  }
  const home = hubHome(env);
  return home === null ? null : `${home}/hub`;
}

function hubHome(env: Environment): string | null {
  const given = expand(env("HF_HOME"), env);
  if (given !== null) return given;
  const user = userHome(env);
  const cache = env("XDG_CACHE_HOME") || (user === null ? null : `${user}/.cache`);
  return cache === null ? null : `${cache}/huggingface`;
}

function userHome(env: Environment): string | null {
  return env("HOME") || env("USERPROFILE") || null;
}

/** Replaces `~` at the beginning of a path by the home folder, like a shell. */
export function expandHome(path: string, env: Environment = processEnvironment): string {
  return path.replace(/^~(?=\/|$)/, () => userHome(env) ?? "~");
}

/** Replaces `~` and `$NAME` in a folder's path and removes slashes at its end; null for none. */
function expand(folder: string | undefined, env: Environment): string | null {
  if (!folder) return null;
  const whole = expandHome(folder, env)
    .replace(/\$(?:(\w+)|\{(\w+)\})/g, (text, a, b) => env(a ?? b) ?? text);
  return whole.replace(/(?<=.)\/+$/, "");
}

function endpointOf(env: Environment): string {
  const given = env("HF_ENDPOINT")?.trim();
  if (!given) return PUBLIC_HUB;
  let url: URL | null = null;
  try {
    url = new URL(given);
  } catch {
    // refused below
  }
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`HF_ENDPOINT: "${given}" is no address, expected https://HOST`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

async function tokenOf(env: Environment, path: string): Promise<string | null> {
  const given = clean(env("HF_TOKEN")) ?? clean(env("HUGGING_FACE_HUB_TOKEN"));
  if (given !== null) return checked(given, "HF_TOKEN");
  try {
    const token = clean(await Deno.readTextFile(path));
    return token === null ? null : checked(token, path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return null;
    }
    throw new UsageError(`${path}: the token cannot be read: ${(error as Error).message}`, {
      advice: "Make the file readable, or set HF_TOKEN.",
      cause: error,
    });
  }
}

function clean(token: string | undefined): string | null {
  return token?.trim() || null;
}

/** Checks that a token has only characters that a header allows. The message does not show it. */
function checked(token: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new UsageError(`${place}: holds no token: there are spaces or other characters in it`);
}

function seconds(name: string, env: Environment): number {
  const given = env(name)?.trim();
  if (!given) return 10;
  const value = Number(given);
  if (value > 0 && value < 1e6) return value;
  throw new UsageError(`${name}: expected a number of seconds, found "${given}"`);
}

/** Whether a switch is on, by the rules of huggingface_hub. */
function isTrue(value: string | undefined): boolean {
  return value !== undefined && ["1", "ON", "YES", "TRUE"].includes(value.trim().toUpperCase());
}
