/**
 * Which files of a repository are wanted. Without a word from the user: of a model what a run needs (its
 * configuration, tokenizer and safetensors), of a data set its JSON Lines and parquet files. Never by default:
 * pickles (`.bin`, `.pt`) and code. Patterns are those of huggingface_hub (Python's fnmatch: `*` also stands for
 * slashes, a pattern that ends with a slash is a folder).
 */
import type { RepositoryKind } from "./repository.ts";

/** What the user asked for; empty lists = not said. */
export interface Selection {
  /** Files by their whole name, or patterns. */
  readonly files: readonly string[];
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export const EVERYTHING_NEEDED: Selection = { files: [], include: [], exclude: [] };

/** Files at the top of a model's repository that rgx reads. */
const MODEL_FILES = [
  ...["config.json", "generation_config.json", "adapter_config.json", "special_tokens_map.json"],
  ...["added_tokens.json", "vocab.json", "merges.txt", "tokenizer*", "chat_template*"],
  ...["*.safetensors", "*.safetensors.index.json"],
];
/** The same weights once more in another layout, which Mistral's repositories hold beside the usual one. */
const OTHER_LAYOUT = /^consolidated.*\.safetensors/;
const MODEL_WEIGHTS = /^(?:model|pytorch_model).*\.safetensors$/;
const CODE_OR_PICKLE = /\.(?:py|bin|pt|pth|ckpt|pkl|h5|msgpack|onnx)$/;

const DATA_FILES = /\.(?:parquet|jsonl)$/;

/** Whether a file is one of a data set that rgx reads. */
export function isDataFile(name: string): boolean {
  return DATA_FILES.test(name);
}

/** The wanted ones of `names`, in their order. */
export function wantedFiles(
  names: readonly string[],
  kind: RepositoryKind,
  { files, include, exclude }: Selection,
): string[] {
  const asked = files.length + include.length > 0;
  const known = new Set(names);
  const included = [...include, ...files.filter((file) => !known.has(file))].map(matcher);
  const excluded = exclude.map(matcher);
  const listed = new Set([...files, ...asked ? [] : usualFiles(names, kind)]);
  return names.filter((name) =>
    (listed.has(name) || included.some((matches) => matches(name))) &&
    !excluded.some((matches) => matches(name))
  );
}

function usualFiles(names: readonly string[], kind: RepositoryKind): string[] {
  if (kind === "dataset") return names.filter(isDataFile);
  const matchers = MODEL_FILES.map(matcher);
  const skipsOther = names.some((name) => MODEL_WEIGHTS.test(name));
  return names.filter((name) =>
    !name.includes("/") && !CODE_OR_PICKLE.test(name) && matchers.some((matches) =>
      matches(name)
    ) &&
    !(skipsOther && OTHER_LAYOUT.test(name))
  );
}

/** A pattern of Python's fnmatch as a test of whole names; a plain name is also that of a folder. */
export function matcher(pattern: string): (name: string) => boolean {
  if (!/[*?[]/.test(pattern)) {
    const folder = pattern.replace(/\/*$/, "/");
    return (name) => name === pattern || name.startsWith(folder);
  }
  const text = pattern.endsWith("/") ? `${pattern}*` : pattern;
  let source = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!, end = text.indexOf("]", i + (text[i + 1] === "!" ? 3 : 2));
    if (c === "*") source += "[^]*";
    else if (c === "?") source += "[^]";
    else if (c === "[" && end > 0) {
      const set = text.slice(i + 1, end).replaceAll(/[\\\]^[]/g, "\\$&").replace(/^!/, "^");
      source += `[${set}]`;
      i = end;
    } else source += c.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");
  }
  let test: RegExp;
  try {
    test = new RegExp(`^${source}$`);
  } catch {
    return (name) => name === pattern; // a range that runs backwards
  }
  return (name) => test.test(name);
}
