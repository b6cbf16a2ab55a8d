/** `rgx doctor --plan CONFIG --gpu NAME`: whether a run fits on a card of another machine. */
import { loadConfig } from "../../configs/load.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { type CardMemory, type CardPlan, planOnCard } from "../../training/card/card_plan.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import {
  cardMemoryJson,
  cardMemoryText,
  cardPlanJson,
  cardVerdictText,
} from "../plans/card_plan_text.ts";
import { missingAdvice, missingForRun, missingLines } from "../plans/missing_parts.ts";
import { print, wrap } from "../terminal/terminal.ts";

/**
 * Returns the exit code: 1 when the configuration does not fit on the card.
 * @throws UsageError when the configuration itself is wrong, or the model's sizes are not known
 */
export async function doctorPlan(
  name: string,
  overrides: string[],
  card: PlanCard,
  { json = false }: { json?: boolean },
): Promise<number> {
  const { config } = await loadConfig(name, { overrides, env: Deno.env.toObject() });
  let seen: CardMemory | undefined;
  const show = (text: string) => json || print(text);
  let plan: CardPlan;
  try {
    plan = await planOnCard(config, card, {
      onMemory: (memory) => {
        seen = memory;
        show(cardMemoryText(memory, config));
      },
    });
  } catch (error) {
    if (!(error instanceof UsageError) || seen === undefined) throw error;
    const { message, advice } = error, misfit = `${message}${advice ? `; ${advice}` : ""}`;
    if (json) {
      print(
        JSON.stringify({ config: name, fits: false, misfits: [misfit], ...cardMemoryJson(seen) }),
      );
    } else {
      show(`does not fit\n`);
      show(wrap(`fix: ${misfit}`, 80).join("\n"));
    }
    return EXIT.failure;
  }
  show(cardVerdictText(plan));
  const missing = await missingForRun(config);
  for (const line of missingLines(missing)) show(`note: ${line}`);
  if (missing.length > 0) show(`before the run, ${missingAdvice(missing)}`);
  if (json) print(JSON.stringify({ config: name, fits: true, misfits: [], ...cardPlanJson(plan) }));
  return EXIT.ok;
}
