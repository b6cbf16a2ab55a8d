/**
 * The score in a judge's answer. Only three forms are read, so that a number in a sentence is never
 * taken for a score.
 */
import { RgxError } from "../../core/errors.ts";

/** Characters of the judge's answer in messages. */
const SHOWN = 120;

/**
 * Reads a number alone, one `<score>N</score>` (text around it is allowed), or a JSON object with
 * `score`. Thoughts up to the last `</think>` are left out.
 * @param scale the smallest and the largest score
 * @throws RgxError when there is no such score, more than one, or one outside of the scale
 */
export function readVerdict(reply: string, [low, high]: readonly [number, number]): number {
  const text = reply.split("</think>").at(-1)!.trim();
  const found = new Set(scoresIn(text));
  const shown = JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
  const [score] = found;
  if (score === undefined) {
    throw new RgxError(
      `the judge's answer has no score: ${shown} (expected a number alone, <score>N</score> or ` +
        `{"score": N})`,
    );
  }
  if (found.size > 1) {
    throw new RgxError(
      `the judge's answer has several scores (${[...found].join(", ")}): ${shown}`,
    );
  }
  if (!(score >= low && score <= high)) {
    throw new RgxError(`the judge's score ${score} is not from ${low} to ${high}: ${shown}`);
  }
  return score;
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;

function scoresIn(text: string): number[] {
  if (NUMBER.test(text)) return [Number(text)];
  const tagged = [...text.matchAll(/<score>\s*([^<]*?)\s*<\/score>/g)].map(([, inner]) => inner!);
  if (tagged.length > 0) {
    return tagged.every((inner) => NUMBER.test(inner)) ? tagged.map(Number) : [];
  }
  const json = text.replace(/^```(?:json)?\s*/, "").replace(/\s*```$/, "");
  try {
    const score = JSON.parse(json)?.score;
    return typeof score === "number" ? [score] : [];
  } catch {
    return [];
  }
}
