/**
 * Job scripts from templates: plain text in which `{{name}}` stands for a part that rgx fills in, already quoted
 * for where it stands. A template of the user's is checked for what SLURM would silently get wrong.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import requeue from "./templates/requeue.sh" with { type: "text" };
import supervise from "./templates/supervise.sh" with { type: "text" };

/** In any spelling, so that a wrong one is noticed; not the braces of a shell, `{{a,b},c}`. */
const PLACEHOLDER = /\{\{ *([A-Za-z0-9_.-]+) *\}\}/g;

/** Files of this folder that others include. */
const PARTS: Readonly<Record<string, string>> = { supervise, requeue };

/**
 * The template with the files that it includes: what --print-template shows.
 * @param without files that stay placeholders, also where the template has their text
 */
export function expandParts(template: string, without: readonly string[] = []): string {
  const expanded = template.replace(PLACEHOLDER, (all, name: string) => {
    const part = PARTS[name];
    return part === undefined || without.includes(name) ? all : part.trimEnd();
  });
  return without.reduce(
    (text, name) => text.replace(PARTS[name]!.trimEnd(), `{{${name}}}`),
    expanded,
  );
}

/**
 * The finished script.
 * @param from how messages call the template
 * @param required placeholders that it must have
 * @throws UsageError for an unknown placeholder, a missing one, or what SLURM would not accept
 */
export function fillTemplate(
  template: string,
  values: Readonly<Record<string, string>>,
  from: string,
  required: readonly string[],
): string {
  if (template.includes("\r")) {
    throw new UsageError(`${from}: has line ends of Windows (CRLF), which sbatch refuses`, {
      advice: "sed -i 's/\\r$//' FILE",
    });
  }
  if (!template.startsWith("#!")) {
    throw new UsageError(`${from}:1: expected the first line to begin with #!`, {
      advice: "For example #!/bin/bash",
    });
  }
  const lines = template.split("\n").map((line, index) =>
    line.replace(PLACEHOLDER, (_, name: string) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined) return value;
      throw new UsageError(
        `${from}:${index + 1}: unknown placeholder {{${name}}}${
          didYouMean(name, Object.keys(values))
        }`,
        { advice: `Placeholders: ${Object.keys(values).sort().join(", ")}` },
      );
    })
  );
  const named = new Set([...template.matchAll(PLACEHOLDER)].map((match) => match[1]));
  for (const name of required) {
    if (named.has(name)) continue;
    throw new UsageError(`${from}: expected the placeholder {{${name}}}`, {
      advice: "rgx slurm --print-template shows the built-in template.",
    });
  }
  const script = lines.join("\n").replace(/\n{3,}/g, "\n\n").trimEnd() + "\n";
  refuseLateOptions(script, from);
  return script;
}

/** sbatch reads no option after the first command, and does not say so. */
function refuseLateOptions(script: string, from: string): void {
  let command: string | null = null;
  for (const line of script.split("\n")) {
    if (line.startsWith("#SBATCH")) {
      if (command === null) continue;
      throw new UsageError(`${from}: "${line}" stands after the first command ("${command}")`, {
        advice: "sbatch ignores options there. Move the line, or {{sbatch}}, up.",
      });
    }
    if (command === null && line.trim() !== "" && !line.startsWith("#")) command = line.trim();
  }
}
