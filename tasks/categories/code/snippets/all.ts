/**
 * All reference functions of codeio with their sources. Questions show exactly the lines that run.
 */
import lists from "./lists_functions.js" with { type: "text" };
import { LIST_SNIPPETS } from "./lists.ts";
import numbers from "./numbers_functions.js" with { type: "text" };
import { NUMBER_SNIPPETS } from "./numbers.ts";
import simulations from "./simulations_functions.js" with { type: "text" };
import { SIMULATION_SNIPPETS } from "./simulations.ts";
import type { Snippet } from "./snippet.ts";
import { TEXT_SNIPPETS } from "./texts.ts";
import texts from "./texts_functions.js" with { type: "text" };

export const SNIPPETS: readonly Snippet[] = [
  ...NUMBER_SNIPPETS,
  ...TEXT_SNIPPETS,
  ...LIST_SNIPPETS,
  ...SIMULATION_SNIPPETS,
];

let sources: Map<string, string> | undefined;

/** The source of a snippet's function. */
export function sourceOf(snippet: Snippet): string {
  sources ??= readSources([numbers, texts, lists, simulations].join("\n"));
  return sources.get(snippet.run.name)!;
}

/** The functions by name. Each begins at a line start and ends with a bracket at a line start. */
function readSources(text: string): Map<string, string> {
  const functions = text.matchAll(/^export (function (\w+)\([^]*?^\})$/gm);
  return new Map([...functions].map(([, source, name]) => [name!, source!]));
}
