/**
 * Fills in the templates of job scripts. A template is a text with placeholders `{{name}}`; their
 * values are already quoted for their place. Templates from users are checked for mistakes that
 * SLURM does not report.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import requeue from "./templates/requeue.sh" with { type: "text" };
import resubmit from "./templates/resubmit.sh" with { type: "text" };
import supervise from "./templates/supervise.sh" with { type: "text" };
import wait from "./templates/wait.sh" with { type: "text" };

/** Matches any name, so that unknown ones are reported, but not a shell's braces `{{a,b},c}`. */
const PLACEHOLDER = /\{\{ *([A-Za-z0-9_.-]+) *\}\}/g;

/** Files of templates/ that other templates include. */
const PARTS: Readonly<Record<string, string>> = { supervise, requeue, resubmit, wait };

/**
 * Replaces the placeholders of included files by their text, as --print-template shows it.
 * @param without names of included files to leave as placeholders, even where the template contains
 *   their text
 */
export function expandParts(template: string, without: readonly string[] = []): string {
  const expand = (text: string): string =>
    text.replace(PLACEHOLDER, (all, name: string) => {
      const part = PARTS[name];
      return part === undefined || without.includes(name) ? all : expand(part.trimEnd());
    });
  const expanded = expand(template);
  return without.reduce(
    (text, name) => text.replace(PARTS[name]!.trimEnd(), `{{${name}}}`),
    expanded,
  );
}

/**
 * Fills in a template.
 * @param from the template's name in messages
 * @param required placeholders that the template must have
 * @throws UsageError for an unknown or missing placeholder, or for what SLURM would not accept
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

/** Refuses #SBATCH lines and the like after the first command: they are ignored there. */
function refuseLateOptions(script: string, from: string): void {
  let command: string | null = null;
  for (const line of script.split("\n")) {
    if (/^#(?:SBATCH|PBS|BSUB)\b/.test(line)) {
      if (command === null) continue;
      throw new UsageError(`${from}: "${line}" is after the first command ("${command}")`, {
        advice: "Options there are ignored without a message. Move the line up.",
      });
    }
    if (command === null && line.trim() !== "" && !line.startsWith("#")) command = line.trim();
  }
}
