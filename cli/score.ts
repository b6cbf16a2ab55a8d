/** `rgx score`: answers or completions in, scores out, line by line and in order. */
import { createInterface } from "node:readline";
import { createReadStream } from "node:fs";
import process from "node:process";
import { EXIT, UsageError } from "../core/errors.ts";
import { scoreCompletion } from "../data/score.ts";
import { scoreAnswer } from "../tasks/dataset.ts";
import { getTask } from "../tasks/registry.ts";
import type { ScorableEntry } from "../tasks/types.ts";
import { print } from "./terminal.ts";

export async function scoreFile(
  file: string,
  options: { completions?: boolean },
): Promise<number> {
  if (file !== "-") {
    const info = await Deno.stat(file).catch((cause) => {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new UsageError(`${file}: no such file`, { cause });
    });
    if (info.isDirectory) throw new UsageError(`${file}: is a folder, expected a JSONL file`);
  }
  const input = file === "-" ? process.stdin : createReadStream(file);
  let scored = 0, failed = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    const result = await scoreLine(line, options.completions ?? false);
    if ("error" in result) failed++;
    else scored++;
    print(JSON.stringify(result));
  }
  return scored === 0 && failed > 0 ? EXIT.failure : EXIT.ok;
}

type LineResult = { score: number } | { score: 0; error: string };

async function scoreLine(line: string, completions: boolean): Promise<LineResult> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { score: 0, error: `not JSON: ${(error as Error).message}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { score: 0, error: "expected an object with entry and answer" };
  }
  const { entry, answer, completion } = value as Record<string, unknown>;
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    return { score: 0, error: "entry: expected an object with question, answer and metadata" };
  }
  const metadata = (entry as ScorableEntry).metadata;
  const name = metadata?.["source_dataset"];
  if (typeof name !== "string") {
    return { score: 0, error: "entry.metadata.source_dataset: expected the task's name" };
  }
  try {
    await getTask(name);
    if (completions) {
      if (typeof completion !== "string") {
        return { score: 0, error: "completion: expected a string (with --completions)" };
      }
      const result = scoreCompletion(completion, entry as ScorableEntry);
      return result.error === null ? { score: result.score } : { score: 0, error: result.error };
    }
    if (!("answer" in value)) return { score: 0, error: "answer: expected a string or null" };
    return { score: scoreAnswer(answer as string | null, entry as ScorableEntry) };
  } catch (error) {
    return { score: 0, error: (error as Error).message };
  }
}
