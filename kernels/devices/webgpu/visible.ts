/**
 * Which GPUs this process may use. Schedulers set CUDA_VISIBLE_DEVICES (NVIDIA),
 * HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES (AMD) to indices or NVIDIA's UUIDs. WebGPU ignores
 * these variables and would use the first GPU of a shared node. A GPU whose device file is denied
 * by a cgroup is invisible to Vulkan too, and indices count only the other GPUs. Slices of a GPU
 * (MIG-…) are not supported, since Vulkan has none.
 */
import { type RgxError, UsageError } from "../../../core/errors.ts";
import { type Env, processEnv } from "../../../core/machine/job.ts";
import { type Card, listCards, selectCard } from "./cards.ts";

const VENDORS = [
  { vendor: "10de", variables: ["CUDA_VISIBLE_DEVICES"] },
  { vendor: "1002", variables: ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"] },
] as const;

/** What NVIDIA's driver reports about a card. */
export interface DriverInfo {
  /** "GPU-…"; null when unknown. */
  uuid: string | null;
  /** Whether the card's device file can be opened. */
  allowed: boolean;
}

export interface CardSources {
  cards: readonly Card[];
  env: Env;
  /** Information from the driver, or null when there is none. */
  driver: (card: Card) => DriverInfo | null;
}

export interface Visible {
  /** Indices in the list of cards, in the order of the variable; null = all cards are visible. */
  cards: number[] | null;
  /** The card that Vulkan uses by default. */
  first: number | null;
  /** The variable that was used, with its value. */
  by: string | null;
}

export function visibleCards(sources: CardSources = machine()): Visible {
  const { cards, env, driver } = sources;
  for (const { vendor, variables } of VENDORS) {
    const name = variables.find((variable) => env(variable) !== undefined);
    const vendorCards = cards.flatMap((card, at) => {
      if (card.vendor !== vendor) return [];
      const info = driver(card);
      return info?.allowed === false ? [] : [{ at, uuid: info?.uuid ?? null }];
    });
    if (name === undefined || !cards.some((card) => card.vendor === vendor)) continue;
    const by = `${name}=${env(name)}`;
    const chosen: number[] = [];
    for (const token of (env(name) ?? "").split(",").map((text) => text.trim())) {
      if (/^(GPU|MIG)-/.test(token) && vendorCards.some(({ uuid }) => uuid === null)) {
        return { cards: null, first: null, by: null }; // the UUIDs of the cards are unknown
      }
      const found = /^[0-9]+$/.test(token)
        ? vendorCards[Number(token)]
        : vendorCards.find(({ uuid }) => token.startsWith("GPU-") && uuid?.startsWith(token));
      if (found === undefined) break; // like CUDA: the rest of the list is ignored too
      chosen.push(found.at);
    }
    const first = vendorCards[0]?.at ?? null,
      isAll = chosen.length === vendorCards.length && chosen[0] === first;
    return { cards: isAll ? null : chosen, first, by };
  }
  return { cards: null, first: null, by: null };
}

/**
 * Selects the card of this process. Must be called before the first use of WebGPU.
 * @param card index among the visible cards; null = the first
 * @returns false when every card is hidden
 * @throws UsageError when there is no such card
 */
export function chooseCard(card: number | null, sources: CardSources = machine()): boolean {
  const { cards: visible, first, by } = visibleCards(sources);
  if (visible === null) {
    if (card !== null) selectCard(card);
    return true;
  }
  if (visible.length === 0) return false;
  const place = visible[card ?? 0];
  if (place === undefined) {
    throw new UsageError(`there is no graphics card ${card}: ${by} shows ${visible.length}`);
  }
  if (place !== first) selectCard(place);
  return true;
}

/** The error for a machine whose cards are all hidden from this process. */
export function hiddenError(): RgxError {
  const { by } = visibleCards();
  return new UsageError(`this process may use no graphics card: ${by}`, {
    advice: "Compute on the CPU (--device wasm), or ask for a card: sbatch --gres=gpu:1.",
  });
}

function machine(): CardSources {
  return { cards: listCards(), env: processEnv, driver: nvidiaInfo };
}

/** Reads /proc/driver/nvidia, and checks the device file that it names. */
function nvidiaInfo({ address, vendor }: Card): DriverInfo | null {
  if (vendor !== VENDORS[0].vendor) return null;
  let text: string;
  try {
    text = Deno.readTextFileSync(`/proc/driver/nvidia/gpus/${address}/information`);
  } catch {
    return null; // another driver
  }
  const minor = /^Device Minor:\s*([0-9]+)/m.exec(text)?.[1];
  return {
    uuid: /^GPU UUID:\s*(GPU-\S+)/m.exec(text)?.[1] ?? null,
    allowed: minor === undefined || mayOpen(`/dev/nvidia${minor}`),
  };
}

function mayOpen(path: string): boolean {
  try {
    Deno.openSync(path, { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}

/** Number of cards that this process may use, and the variable that limits them ("" = none). */
export function cardsForRanks(sources: CardSources = machine()): { cards: number; by: string } {
  const { cards, by } = visibleCards(sources);
  return { cards: cards?.length ?? sources.cards.length, by: by ?? "" };
}
