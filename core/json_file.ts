/** Reading of JSON files in model folders. Errors name the file and what is wrong with it. */
import { RgxError } from "./errors.ts";
import { readIfThere, whyNotJson } from "./text_file.ts";

/** The object in a JSON file; null without a file. @throws RgxError when it is no object */
export async function readJsonObject(path: string): Promise<Record<string, unknown> | null> {
  const text = await readIfThere(path);
  return text === null ? null : parseJsonObject(text, path);
}

/** Parses a JSON object. @param where the file, for messages. @throws RgxError for anything else */
export function parseJsonObject(text: string, where: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseAsPython(text);
  } catch (error) {
    throw new RgxError(`${where}: not valid JSON: ${whyNotJson(error)}`, {
      advice: text.startsWith("version https://git-lfs")
        ? "It is a Git LFS pointer: run `git lfs pull` in its folder."
        : DAMAGED_ADVICE,
      cause: error,
    });
  }
  if (isRecord(value)) return value;
  throw new RgxError(`${where}: expected a JSON object`, { advice: DAMAGED_ADVICE });
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in the JSON of another program; null when there is none. */
export function jsonObjectOrNull(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Matches texts, and the numbers that Python's `json` writes although JSON has no such numbers. */
const PYTHON_NUMBERS = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;

/** `NaN` is read as a text, so it is refused wherever a number is expected. */
function parseAsPython(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = text.replaceAll(
      PYTHON_NUMBERS,
      (found) => found === "NaN" ? '"NaN"' : found.replace(/^(-?)Infinity$/, "$11e999"),
    );
    if (plain === text) throw error;
    return JSON.parse(plain);
  }
}

export const DAMAGED_ADVICE = "The file is damaged or incomplete: fetch it again.";
