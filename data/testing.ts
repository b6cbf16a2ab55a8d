/** For tests only: files of rows, and the options with which they are opened. */
import { withFolder } from "../core/testing.ts";
import type { SourceOptions } from "./open_source.ts";

/** Of a source of problems that `dataset_name` names. */
export const FROM_FILE: Omit<SourceOptions, "dataset_name"> = {
  task_name: null,
  task_config: {},
  seed: 1,
  num_examples: null,
};

/** What `use` makes of a file with this content: bytes, a text, or rows as JSON Lines. */
export function withFile<T>(
  content: string | Uint8Array | readonly unknown[],
  use: (path: string) => T | Promise<T>,
  name = "rows.jsonl",
): Promise<T> {
  return withFolder(async (folder) => {
    const path = `${folder}/${name}`;
    if (content instanceof Uint8Array) await Deno.writeFile(path, content);
    else await Deno.writeTextFile(path, typeof content === "string" ? content : lines(content));
    return await use(path);
  });
}

/** Rows as JSON Lines; a text is a line as it is. */
export function lines(rows: readonly unknown[]): string {
  return rows.map((row) => typeof row === "string" ? row : JSON.stringify(row)).join("\n") + "\n";
}
