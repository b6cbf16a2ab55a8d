/** `rgx logprobs`: log-probabilities of given tokens, and the likeliest ones at each position. */
import { UsageError } from "../../core/errors.ts";
import { logprobs } from "../../models/inspect/logprobs.ts";
import { type ModelFlags, parseIds, readInput, withModel } from "./model_input.ts";
import { refuseOtherRanks } from "../ranks/one_process.ts";
import { print, table } from "../terminal/terminal.ts";

export interface LogprobsFlags extends ModelFlags {
  prompt?: string;
  completion?: string;
  top: number;
  json?: boolean;
}

export async function showLogprobs(flags: LogprobsFlags): Promise<void> {
  refuseOtherRanks();
  const text = flags.prompt !== undefined || flags.completion !== undefined;
  if (text === (flags.idsFile !== undefined)) {
    throw new UsageError("give --ids-file, or --prompt with --completion");
  }
  if (text && (flags.prompt === undefined || flags.completion === undefined)) {
    throw new UsageError("--prompt and --completion belong together");
  }
  const { idsFile } = flags, given = idsFile === undefined ? null : await readInput(idsFile);
  await withModel(flags, async ({ model, tokenizer }, adapter) => {
    const ids = given !== null ? parseIds(given, idsFile!, model.vocabSize) : [
      ...tokenizer!.encode(flags.prompt!),
      ...tokenizer!.encode(flags.completion!, { addSpecialTokens: false }),
    ];
    const result = await logprobs(model, ids, flags.top);
    if (flags.json) {
      print(JSON.stringify({ ...(adapter === null ? {} : { adapter }), ...result }));
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
      name(id),
      best(result.top[t] ?? null),
    ]);
    if (adapter !== null) print(`# ${adapter}`);
    print(table([["position", "id", "logprob", "token", "likeliest"], ...rows]));
    if (flags.top > 0) print(`next: ${best(result.next_top)}`);
  });
}
