/**
 * Parses names of repositories on the Hub: `ORG/NAME` or `NAME`, optionally with `@REVISION`, the
 * addresses of web pages, and `hf://` paths. Everything else is refused here, so a name that passed
 * is safe as a part of a path or an address.
 */
import { UsageError } from "../core/errors.ts";

/** What a repository of the Hub holds. */
export type RepositoryKind = "model" | "dataset";

/** A model or a data set of the Hub. */
export interface Repository {
  /** What it holds. */
  readonly kind: RepositoryKind;
  /** `org/name`, or `name` alone (old models and data sets). */
  readonly name: string;
}

/** A parsed name. */
export interface Named {
  readonly repository: Repository;
  /** Branch, tag or commit; null = not given. */
  readonly revision: string | null;
  /** A file, folder or pattern in the repository; null = not given. */
  readonly path: string | null;
}

const PART = /^[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?$/;
const MAX_NAME_LENGTH = 96;

/** Whether a text is a valid name of a repository: `org/name` or `name`. */
export function isRepositoryName(name: string): boolean {
  const parts = name.split("/");
  return name.length <= MAX_NAME_LENGTH && parts.length <= 2 &&
    parts.every((part) => PART.test(part)) &&
    !name.includes("--") && !name.includes("..") && !name.endsWith(".git");
}

/** Whether a text is a valid branch, tag or commit. It is also used as a path below `refs/`. */
export function isRevision(revision: string): boolean {
  return revision.length <= 255 && !/[\s\\~^:?*[\]\p{Cc}]/u.test(revision) &&
    revision.split("/").every((part) => part !== "" && !/^\.|\.\.|\.lock$/.test(part));
}

/** Checks the name of a repository of models for an upload. @throws UsageError */
export function checkRepositoryName(name: string): void {
  if (/^(datasets|spaces)\//.test(name)) {
    throw new UsageError(`${name}: a repository of another kind; models are uploaded`, {
      advice: "Name a repository of models: USER/NAME.",
    });
  }
  if (!isRepositoryName(name)) {
    throw new UsageError(`${name}: the Hub forbids this name`, {
      advice: "Expected USER/NAME of letters, digits, - _ and . (no -- or .., at most 96 long).",
    });
  }
}

/** The default revision. */
export const MAIN = "main";

/** Whether a revision is a commit, whose content never changes. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}

/**
 * Parses the text that a user gives for a repository.
 * @param kind the kind if the text has none
 * @returns null when the text names no repository
 */
export function parseNamed(text: string, kind: RepositoryKind): Named | null {
  const page = /^https?:\/\/[^/]+\/(.+?)\/?$/.exec(text);
  if (page !== null) return fromPage(page[1]!, kind);
  const scheme = /^hf:\/\/(.+?)\/?$/.exec(text);
  if (scheme !== null) return fromScheme(scheme[1]!, kind);
  const typed = withoutKind(text, kind), at = typed.path.indexOf("@");
  const name = at < 0 ? typed.path : typed.path.slice(0, at);
  return named(typed.kind, name, at < 0 ? null : typed.path.slice(at + 1), null);
}

/** Like `parseNamed`, for a text that must name a repository. @throws UsageError */
export function requireNamed(text: string, kind: RepositoryKind): Named {
  const found = parseNamed(text, kind);
  if (found !== null) return found;
  throw new UsageError(`${text}: not the name of a repository on the Hub`, {
    advice: "Expected ORG/NAME, for example HuggingFaceTB/SmolLM2-135M-Instruct, " +
      "with @REVISION (a branch, tag or commit) or without.",
  });
}

/** Parses `org/name/tree/main/folder` of a web address; data sets begin with `datasets/`. */
function fromPage(path: string, kind: RepositoryKind): Named | null {
  const typed = withoutKind(path, kind);
  const [, name, revision, inside] =
    /^([^/]+(?:\/[^/]+)??)(?:\/(?:tree|blob|resolve)\/([^/?#]+)(?:\/([^?#]+))?)?(?:[?#].*)?$/
      .exec(typed.path) ?? [];
  if (name === undefined) return null;
  const decoded = (part: string | undefined) => part === undefined ? null : decode(part);
  return named(typed.kind, name, decoded(revision), decoded(inside));
}

/** Parses `datasets/org/name@revision/path`, the syntax of Python's fsspec. */
function fromScheme(path: string, kind: RepositoryKind): Named | null {
  const typed = withoutKind(path, kind);
  const [, name, revision, inside] =
    /^([^/@]+\/[^/@]+)(?:@([^/]+))?(?:\/(.+))?$/.exec(typed.path) ??
      [];
  if (name === undefined) return null;
  return named(typed.kind, name, revision === undefined ? null : decode(revision), inside ?? null);
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

/**
 * The name of a model with a revision in it: `ORG/NAME@REVISION`, `hf://ORG/NAME@REVISION/PATH`. A
 * name that already has a revision, or is not one of the Hub, is returned unchanged. `main` is not
 * added: a name without a revision may then stand for the only revision that was fetched.
 */
export function withRevision(text: string, revision: string | null): string {
  const found = parseNamed(text, "model");
  if (revision === null || revision === MAIN || !isRevision(revision)) return text;
  if (found === null || found.revision !== null) return text;
  const { repository: { name }, path } = found;
  return path === null
    ? `${name}@${revision}`
    : `hf://${name}@${encodeURIComponent(revision)}/${path}`;
}

/** The name of a model without its revision and path; names not of the Hub stay. */
export function modelName(text: string): string {
  return parseNamed(text, "model")?.repository.name ?? text;
}

/** The path of a repository in addresses of the Hub; data sets begin with `datasets/`. */
export function addressOf({ kind, name }: Repository): string {
  return kind === "dataset" ? `datasets/${name}` : name;
}

/** The command that fetches a repository, for messages. */
export function pullCommand({ kind, name }: Repository, revision: string | null = null): string {
  return `rgx pull ${kind === "dataset" ? "--dataset " : ""}${name}${
    revision === null ? "" : `@${revision}`
  }`;
}
