/**
 * Selects the files of a repository to fetch. By default these are what a run needs of a model
 * (configuration, tokenizer and safetensors), and the JSON Lines and parquet files of a data set.
 * Pickles (`.bin`, `.pt`) and code are never fetched by default. Patterns have the syntax of
 * huggingface_hub (Python's fnmatch): `*` also matches slashes, and a pattern that ends with a
 * slash matches everything in that folder.
 */
import type { RepositoryKind } from "./repository.ts";

/** The user's selection; empty lists = the default. */
export interface Selection {
  /** Full names or patterns. */
  readonly files: readonly string[];
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export const EVERYTHING_NEEDED: Selection = { files: [], include: [], exclude: [] };

/** Files in the top folder of a model's repository that rgx reads. */
const MODEL_FILES = [
  ...["config.json", "generation_config.json", "adapter_config.json", "special_tokens_map.json"],
  ...["added_tokens.json", "vocab.json", "merges.txt", "tokenizer*", "chat_template*"],
  ...["*.safetensors", "*.safetensors.index.json"],
];
/** A second copy of the weights in Mistral's layout, which its repositories also contain. */
const OTHER_LAYOUT = /^consolidated.*\.safetensors/;
const MODEL_WEIGHTS = /^(?:model|pytorch_model).*\.safetensors$/;
const CODE_OR_PICKLE = /\.(?:py|bin|pt|pth|ckpt|pkl|h5|msgpack|onnx)$/;

const DATA_FILES = /\.(?:parquet|jsonl)$/;

/** Whether a file has a data format that rgx reads. */
export function isDataFile(name: string): boolean {
  return DATA_FILES.test(name);
}

/** The selected files of `names`, in the same order. */
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

/** A pattern of Python's fnmatch as a test of full names; a plain name also matches as a folder. */
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
    return (name) => name === pattern; // an invalid range such as [z-a]
  }
  return (name) => test.test(name);
}
