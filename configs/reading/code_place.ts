/** Finds the file of a reward or a task that a configuration names. */
import { isAbsolute, relative, resolve } from "node:path";
import { stat } from "node:fs/promises";
import { expandHome } from "../../hub/settings.ts";

/**
 * The file's path. It is looked for beside the configuration, then in the working directory.
 * @param directory the configuration's folder; null for the command line
 * @returns a path relative to the working directory if the file is below it; null: no such file
 */
export async function findCode(
  name: string,
  directory: string | null,
  cwd: string,
): Promise<{ path: string | null; lookedAt: string[] }> {
  const file = expandHome(name);
  const lookedAt = directory === null ? [] : [resolve(cwd, directory, file)];
  if (!lookedAt.includes(resolve(cwd, file))) lookedAt.push(resolve(cwd, file));
  for (const place of lookedAt) {
    if (!await isThere(place)) continue;
    return { path: isOutside(place, cwd) ? place : relative(cwd, place), lookedAt };
  }
  return { path: null, lookedAt };
}

/** Whether a path is not in the working directory. */
export function isOutside(folder: string, cwd: string): boolean {
  const path = relative(cwd, folder);
  return path.startsWith("..") || isAbsolute(path);
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
