/** The embedded configurations. `rgx:NAME` always means one of them. */
import * as files from "../embedded_files.ts";

/** Path below `configs/` → text. */
export const EMBEDDED: ReadonlyMap<string, string> = new Map(
  Object.entries(files).map(([path, text]) => [`${path}.yaml`, text]),
);

export function experimentNames(): string[] {
  return namesIn("experiments/");
}

export function evaluationNames(): string[] {
  return namesIn("evaluations/");
}

function namesIn(folder: string): string[] {
  return [...EMBEDDED.keys()].filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length).replace(/\.yaml$/, "")).sort();
}

/** Path of the embedded file with this name (without folder and extension), or null. */
export function embeddedPath(name: string): string | null {
  for (const folder of ["experiments/", "", "models/", "tasks/"]) {
    if (EMBEDDED.has(`${folder}${name}.yaml`)) return `${folder}${name}.yaml`;
  }
  return null;
}
