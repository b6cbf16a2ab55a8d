/**
 * The files of a repository that are fetched by default. Of a model these are the files that a run
 * needs: configuration, tokenizer and safetensors. Of a data set these are the parquet files,
 * the JSON Lines and the tables in plain text (CSV and TSV; both also packed: .gz, .zst), and the
 * README, which may list the splits. Pickles (`.bin`, `.pt`) and code are never
 * among them.
 */
import { matcher } from "./file_patterns.ts";
import type { RepositoryKind } from "./repository.ts";

/** Files in the top folder of a model's repository that rgx reads. */
const MODEL_FILES = [
  "config.json",
  "generation_config.json",
  "adapter_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer*",
  "chat_template*",
  "*.safetensors",
  "*.safetensors.index.json",
];
/** A second copy of the weights in Mistral's layout, which its repositories also contain. */
const OTHER_LAYOUT = /^consolidated.*\.safetensors/;
const MODEL_WEIGHTS = /^(?:model|pytorch_model).*\.safetensors$/;
/** Its first lines may list the configurations and splits of a data set. */
export const README = "README.md";

const CODE_OR_PICKLE = /\.(?:py|bin|pt|pth|ckpt|pkl|h5|msgpack|onnx)$/;

const DATA_FILES = /\.(?:parquet|jsonl(?:\.(?:gz|zst))?)$/;

/** Tables in plain text, which are read if they are named, or alone. */
const TABLES = /\.[ct]sv(?:\.(?:gz|zst))?$/i;

/** Whether a file is a table in plain text. */
export function isTable(name: string): boolean {
  return TABLES.test(name);
}

/** Whether a file has a data format that the Hub's data sets have, and rgx reads. */
export function isDataFile(name: string): boolean {
  return DATA_FILES.test(name);
}

/** Whether a file can be read as rows, where a user or a README names it. */
export function isReadable(name: string): boolean {
  return isDataFile(name) || isTable(name) || /\.json(?:\.(?:gz|zst))?$/.test(name);
}

/** The files of `names` that are fetched when the user selects none, in the same order. */
export function defaultFiles(names: readonly string[], kind: RepositoryKind): string[] {
  if (kind === "dataset") {
    return names.filter((name) => isDataFile(name) || isTable(name) || name === README);
  }
  const matchers = MODEL_FILES.map(matcher);
  const skipsOther = names.some((name) => MODEL_WEIGHTS.test(name));
  return names.filter((name) =>
    !name.includes("/") && !CODE_OR_PICKLE.test(name) && matchers.some((matches) =>
      matches(name)
    ) &&
    !(skipsOther && OTHER_LAYOUT.test(name))
  );
}
