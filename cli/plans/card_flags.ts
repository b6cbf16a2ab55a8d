/** The flags that plan for a graphics card of another machine: `--gpu` and `--device-memory`. */
import { UsageError } from "../../core/errors.ts";
import { type PlanCard, planCard } from "../../training/card/plan_card.ts";
import type { CARD } from "../flag_tables.ts";
import type { Flags } from "../flags.ts";

/**
 * The card that the flags name; null when there are none.
 * @param plans whether the command only plans; `planFlag` makes it do so
 * @throws UsageError for flags that do not go together, and for unknown cards
 */
export function cardFromFlags(
  { gpu, deviceMemory, device }: Flags<typeof CARD> & { device?: string },
  { plans, planFlag }: { plans: boolean; planFlag: string },
): PlanCard | null {
  if (gpu === undefined && deviceMemory === undefined) return null;
  const flag = gpu === undefined ? "--device-memory" : "--gpu";
  if (gpu !== undefined && deviceMemory !== undefined) {
    throw new UsageError("--gpu and --device-memory: give one of them", {
      advice: "--gpu knows the memory of its card; --device-memory is for cards that it does not.",
    });
  }
  const card = gpu !== undefined ? planCard({ gpu }) : planCard({ deviceMemory: deviceMemory! });
  if (!plans) {
    throw new UsageError(`${flag} ${gpu ?? deviceMemory}: only a plan can be for another card`, {
      advice: `Add ${planFlag}. A run uses the card that it finds (rgx doctor shows it).`,
    });
  }
  if (device !== undefined && device !== "auto" && !/^(webgpu|vulkan)(:|$)/.test(device)) {
    throw new UsageError(`${flag} plans for a graphics card, and --device ${device} is none`, {
      advice: `Leave one of them out; ${flag} goes with --device webgpu.`,
    });
  }
  return card;
}
