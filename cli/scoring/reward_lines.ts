/**
 * `rgx score --reward`: reads samples and writes their rewards, line by line and in order. Lines
 * that are there together are scored together; each line is answered before more are read, so that
 * another program can ask and wait.
 */
import { whyNotJson } from "../../core/text_file.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { RewardSample } from "../../rewards/types.ts";
import { writeResult } from "../terminal/terminal.ts";
import { mistakeOf, readSample, sampleScores } from "./samples.ts";

/** @returns the numbers of lines that were scored, and that could not be */
export async function scoreRewardLines(
  pieces: AsyncIterable<Uint8Array>,
  rubric: Rubric,
  maxLength: number,
): Promise<{ scored: number; failed: number }> {
  let number = 0, scored = 0, failed = 0;
  for await (const piece of pieces) {
    const samples: RewardSample[] = [], results: (string | null)[] = [];
    const lines = new TextDecoder().decode(piece).split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of lines) {
      number++;
      if (line.trim() === "") continue;
      try {
        samples.push(readSample(parse(line), `line ${number}`, rubric, maxLength));
        results.push(null);
      } catch (error) {
        failed++;
        const message = error instanceof SyntaxError
          ? `line ${number}: not JSON: ${whyNotJson(error)}`
          : mistakeOf(error);
        results.push(JSON.stringify({ reward: null, error: message }));
      }
    }
    const all = await rubric.score(samples), scores = sampleScores(rubric, all);
    const errors = new Map(
      all.errors.map(({ row, name, message }) => [row, `${name}: ${message}`]),
    );
    let next = 0;
    const text = results.map((result) => {
      if (result !== null) return result;
      const error = errors.get(next);
      return JSON.stringify({ ...scores[next++], ...(error !== undefined && { error }) });
    });
    scored += samples.length;
    if (text.length > 0) writeResult(new TextEncoder().encode(text.join("\n") + "\n"));
  }
  return { scored, failed };
}

const parse = (line: string): unknown => JSON.parse(line);
