/**
 * Names on the Hub: `ORG/NAME` or `NAME` with `@REVISION` or without, the addresses of the web pages and
 * `hf://` paths. What is no such name is refused here, so that a name can be part of a path and of an address.
 */
import { UsageError } from "../core/errors.ts";

export type RepositoryKind = "model" | "dataset";

/** A model or a data set of the Hub. */
export interface Repository {
  readonly kind: RepositoryKind;
  /** `org/name`, or `name` alone (old models and data sets). */
  readonly name: string;
}

/** What a text names. */
export interface Named {
  readonly repository: Repository;
  /** Branch, tag or commit; null = not said. */
  readonly revision: string | null;
  /** A file, folder or pattern in the repository; null = not said. */
  readonly path: string | null;
}

const PART = /^[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?$/;
const LONGEST_NAME = 96;

/** Whether it may be the name of a repository: `org/name` or `name`. */
export function isRepositoryName(name: string): boolean {
  const parts = name.split("/");
  return name.length <= LONGEST_NAME && parts.length <= 2 &&
    parts.every((part) => PART.test(part)) &&
    !name.includes("--") && !name.includes("..") && !name.endsWith(".git");
}

/** Whether it may be the name of a branch, tag or commit, which is also a path below `refs/`. */
export function isRevision(revision: string): boolean {
  return revision.length <= 255 && !/[\s\\~^:?*[\]\p{Cc}]/u.test(revision) &&
    revision.split("/").every((part) => part !== "" && !/^\.|\.\.|\.lock$/.test(part));
}

/** Whether a revision is a commit, which never changes what it means. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}

/**
 * Reads what a user writes for a repository.
 * @param kind what is meant where the text itself does not say it
 * @returns null when it is nothing of the Hub
 */
export function parseNamed(text: string, kind: RepositoryKind): Named | null {
  const page = /^https?:\/\/[^/]+\/(.+?)\/?$/.exec(text);
  if (page !== null) return fromPage(page[1]!, kind);
  const scheme = /^hf:\/\/(.+?)\/?$/.exec(text);
  if (scheme !== null) return fromScheme(scheme[1]!, kind);
  const own = withoutKind(text, kind), at = own.path.indexOf("@");
  const name = at < 0 ? own.path : own.path.slice(0, at);
  return named(own.kind, name, at < 0 ? null : own.path.slice(at + 1), null);
}

/** The same, for what must be a repository. @throws UsageError */
export function requireNamed(text: string, kind: RepositoryKind): Named {
  const found = parseNamed(text, kind);
  if (found !== null) return found;
  throw new UsageError(`${text}: not the name of a repository on the Hub`, {
    advice: "Expected ORG/NAME, for example HuggingFaceTB/SmolLM2-135M-Instruct, " +
      "with @REVISION (a branch, tag or commit) or without.",
  });
}

/** `org/name/tree/main/folder` of a web page's address, data sets with `datasets/` before it. */
function fromPage(path: string, kind: RepositoryKind): Named | null {
  const own = withoutKind(path, kind);
  const [, name, revision, inside] =
    /^([^/]+(?:\/[^/]+)??)(?:\/(?:tree|blob|resolve)\/([^/?#]+)(?:\/([^?#]+))?)?(?:[?#].*)?$/
      .exec(own.path) ?? [];
  if (name === undefined) return null;
  const decoded = (part: string | undefined) => part === undefined ? null : decode(part);
  return named(own.kind, name, decoded(revision), decoded(inside));
}

/** `datasets/org/name@revision/path`, as Python's fsspec has it. */
function fromScheme(path: string, kind: RepositoryKind): Named | null {
  const own = withoutKind(path, kind);
  const [, name, revision, inside] = /^([^/@]+\/[^/@]+)(?:@([^/]+))?(?:\/(.+))?$/.exec(own.path) ??
    [];
  if (name === undefined) return null;
  return named(own.kind, name, revision === undefined ? null : decode(revision), inside ?? null);
}

function withoutKind(
  path: string,
  kind: RepositoryKind,
): { path: string; kind: RepositoryKind } {
  if (path.startsWith("datasets/")) return { path: path.slice(9), kind: "dataset" };
  return path.startsWith("models/") ? { path: path.slice(7), kind: "model" } : { path, kind };
}

function named(
  kind: RepositoryKind,
  name: string,
  revision: string | null,
  path: string | null,
): Named | null {
  if (!isRepositoryName(name) || revision !== null && !isRevision(revision)) return null;
  return { repository: { kind, name }, revision, path };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `datasets/` for data sets: how addresses of the Hub begin. */
export function addressOf({ kind, name }: Repository): string {
  return kind === "dataset" ? `datasets/${name}` : name;
}

/** What fetches it, for messages. */
export function pullCommand({ kind, name }: Repository, revision: string | null = null): string {
  return `rgx pull ${kind === "dataset" ? "--dataset " : ""}${name}${
    revision === null ? "" : `@${revision}`
  }`;
}
