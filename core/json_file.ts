/** Reading of JSON files in model folders. Errors name the file and what is wrong with it. */
import { RgxError } from "./errors.ts";
import { readIfThere, whyNotJson } from "./text_file.ts";

/**
 * Reads the object in a JSON file.
 * @returns null when the file does not exist
 * @throws RgxError when the content is no JSON object
 */
export async function readJsonObject(path: string): Promise<Record<string, unknown> | null> {
  const text = await readIfThere(path);
  return text === null ? null : parseJsonObject(text, path);
}

/**
 * Parses a JSON object.
 * @param where path of the file, for messages
 * @throws RgxError when the text is no JSON object
 */
export function parseJsonObject(text: string, where: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RgxError(`${where}: not valid JSON: ${whyNotJson(error)}`, {
      advice: text.startsWith("version https://git-lfs")
        ? "It is a Git LFS pointer: run `git lfs pull` in its folder."
        : DAMAGED_ADVICE,
      cause: error,
    });
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new RgxError(`${where}: expected a JSON object`, { advice: DAMAGED_ADVICE });
  }
  return value as Record<string, unknown>;
}

export const DAMAGED_ADVICE = "The file is damaged or incomplete: fetch it again.";
