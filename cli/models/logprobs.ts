/** `rgx logprobs`: log-probabilities of given tokens, and the likeliest ones at each position. */
import { UsageError } from "../../core/errors.ts";
import { logprobs, type SequenceLogprobs } from "../../models/inspect/logprobs.ts";
import { tokenText } from "../../models/tokenizers/following_text.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { parseIds, readInput, withModel } from "./model_input.ts";
import { print, table } from "../terminal/terminal.ts";
import type { FlagsOf } from "../flags.ts";
import { refuseOtherRanks } from "../open_device.ts";

export type LogprobsFlags = FlagsOf<"LOGPROBS"> & { model: string };

/**
 * The ids of a prompt and its continuation, encoded as one text. If a token would cross the border,
 * both are encoded separately, because a model that continues the prompt makes no such token.
 */
function encodeTogether(tokenizer: Tokenizer, prompt: string, completion: string): number[] {
  const before = encodePrompt(tokenizer, prompt);
  return goesOn(before, encodePrompt(tokenizer, prompt + completion)) ??
    [...before, ...encodeRest(tokenizer, completion)];
}

/** The ids of a text that is not at the beginning, where many tokenizers add a space. */
function encodeRest(tokenizer: Tokenizer, text: string): number[] {
  const encode = (part: string) => tokenizer.encode(part, { addSpecialTokens: false });
  const line = encode("\n");
  return goesOn(line, encode(`\n${text}`))?.slice(line.length) ?? encode(text);
}

/** The ids of a prompt. One that a chat template wrote has its first token already. */
function encodePrompt(tokenizer: Tokenizer | null, prompt: string | undefined): number[] {
  if (tokenizer === null || prompt === undefined) return [];
  const ids = tokenizer.encode(prompt);
  const plain = tokenizer.encode(prompt, { addSpecialTokens: false });
  return ids[0] === plain[0] ? plain : ids;
}

/** The text of each id that a result names. */
function texts(tokenizer: Tokenizer, { ids, top }: SequenceLogprobs): Record<number, string> {
  const named = new Set([...ids, ...top.flatMap((some) => (some ?? []).map(({ id }) => id))]);
  return Object.fromEntries([...named].map((id) => [id, tokenText(tokenizer, id)]));
}

/** The longer list if it begins with the other one, else null. */
function goesOn(begin: readonly number[], all: number[]): number[] | null {
  return begin.every((id, i) => all[i] === id) ? all : null;
}

export async function showLogprobs(flags: LogprobsFlags): Promise<void> {
  refuseOtherRanks();
  const { idsFile, prompt, completion } = flags;
  if ((completion === undefined) === (idsFile === undefined)) {
    throw new UsageError("give --ids-file, or --prompt with --completion");
  }
  if (completion !== undefined && prompt === undefined) {
    throw new UsageError("--prompt and --completion belong together");
  }
  const given = idsFile === undefined ? null : await readInput(idsFile);
  await withModel(flags, async ({ model, tokenizer }, adapter) => {
    const ids = given === null
      ? encodeTogether(tokenizer!, prompt!, completion!)
      : [...encodePrompt(tokenizer, prompt), ...parseIds(given, idsFile!, model.vocabSize)];
    const result = await logprobs(model, ids, flags.top);
    if (flags.json) {
      const tokens = tokenizer === null ? {} : { tokens: texts(tokenizer, result) };
      print(JSON.stringify({ ...(adapter === null ? {} : { adapter }), ...result, ...tokens }));
      return;
    }
    const name = (id: number) =>
      tokenizer === null ? `#${id}` : JSON.stringify(tokenizer.decode([id]));
    const best = (top: { id: number; logprob: number }[] | null) =>
      (top ?? []).map(({ id, logprob }) => `${name(id)} ${logprob.toFixed(2)}`).join("  ");
    const rows = ids.map((id, t) => [
      `${t}`,
      `${id}`,
      result.logprobs[t]?.toFixed(4) ?? "–",
      result.entropies[t]?.toFixed(4) ?? "–",
      name(id),
      best(result.top[t] ?? null),
    ]);
    if (adapter !== null) print(`# ${adapter}`);
    print(table([["position", "id", "logprob", "entropy", "token", "likeliest"], ...rows]));
    if (flags.top > 0) print(`next: ${best(result.next_top)}`);
  });
}
