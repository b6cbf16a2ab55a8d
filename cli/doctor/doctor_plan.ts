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
import {
  missingAdvice,
  missingForRun,
  missingLines,
  namingMissing,
} from "../plans/missing_parts.ts";
import { scalingJson, scalingText } from "../plans/scaling_text.ts";
import { checkRankCount } from "../../training/run/rank_count.ts";
import { scalingPlan } from "../../training/scaling/scaling_plan.ts";
import { paragraph, print } from "../terminal/terminal.ts";
import { type LayoutFlags, layoutOf } from "./layout_flags.ts";

/**
 * @param flags the nodes and cards of a run on several ranks; otherwise its keys may name them
 * @returns the exit code: 1 when the configuration does not fit on the card.
 * @throws UsageError when the configuration itself is wrong, or the model's sizes are not known
 */
export async function doctorPlan(
  name: string,
  overrides: string[],
  card: PlanCard,
  { json = false, ...flags }: { json?: boolean } & LayoutFlags,
): Promise<number> {
  const { config } = await namingMissing(() =>
    loadConfig(name, { overrides, env: Deno.env.toObject() })
  );
  const layout = layoutOf(flags, config.training);
  let seen: CardMemory | undefined;
  const show = (text: string) => json || print(text);
  let plan: CardPlan;
  try {
    const ranks = layout === null ? 1 : layout.nodes * layout.gpus;
    checkRankCount(config, ranks);
    plan = await planOnCard(config, card, {
      ranks,
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
      show(paragraph(`fix: ${misfit}`));
    }
    return EXIT.failure;
  }
  show(cardVerdictText(plan));
  const scaling = layout === null || plan.time === null || card.figures === null
    ? null
    : { plan: scalingPlan(config, plan, layout, card.figures), layout };
  if (scaling !== null) show(scalingText(scaling.plan, scaling.layout));
  const missing = await missingForRun(config);
  for (const line of missingLines(missing)) show(`note: ${line}`);
  if (missing.length > 0) show(`before the run, ${missingAdvice(missing)}`);
  if (json) {
    print(
      JSON.stringify({
        config: name,
        fits: true,
        misfits: [],
        ...cardPlanJson(plan),
        ...(scaling === null ? {} : { ranks: scalingJson(scaling.plan, scaling.layout) }),
      }),
    );
  }
  return EXIT.ok;
}
