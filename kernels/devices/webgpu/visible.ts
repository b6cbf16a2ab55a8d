/**
 * Which cards this process may use, where schedulers say so by CUDA_VISIBLE_DEVICES (NVIDIA), HIP_VISIBLE_DEVICES or
 * ROCR_VISIBLE_DEVICES (AMD): indices, or NVIDIA's UUIDs. WebGPU knows none of them and would take the first card of
 * a node that others share. A card whose device file a cgroup denies is none for Vulkan either, and indices count the
 * others. Slices of a card (MIG-…) are not told apart: Vulkan has none.
 */
import { type RgxError, UsageError } from "../../../core/errors.ts";
import { type Env, processEnv } from "../../../core/machine/job.ts";
import { type Card, listCards, selectCard } from "./cards.ts";

const MAKERS = [
  { vendor: "10de", variables: ["CUDA_VISIBLE_DEVICES"] },
  { vendor: "1002", variables: ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"] },
] as const;

/** What NVIDIA's driver says of a card. */
export interface DriverInfo {
  /** "GPU-…"; null where nothing tells. */
  uuid: string | null;
  /** Whether its device file may be opened. */
  allowed: boolean;
}

export interface CardSources {
  cards: readonly Card[];
  env: Env;
  /** Null where the driver says nothing of a card. */
  driver: (card: Card) => DriverInfo | null;
}

export interface Visible {
  /** Places in the list of cards, in the order in which the variable names them; null: nothing narrows them. */
  cards: number[] | null;
  /** The one that Vulkan takes by itself. */
  first: number | null;
  /** The variable that decided, with its value. */
  by: string | null;
}

export function visibleCards(sources: CardSources = machine()): Visible {
  const { cards, env, driver } = sources;
  for (const { vendor, variables } of MAKERS) {
    const name = variables.find((variable) => env(variable) !== undefined);
    const own = cards.flatMap((card, at) => {
      if (card.vendor !== vendor) return [];
      const info = driver(card);
      return info?.allowed === false ? [] : [{ at, uuid: info?.uuid ?? null }];
    });
    if (name === undefined || !cards.some((card) => card.vendor === vendor)) continue;
    const by = `${name}=${env(name)}`;
    const chosen: number[] = [];
    for (const token of (env(name) ?? "").split(",").map((text) => text.trim())) {
      if (/^(GPU|MIG)-/.test(token) && own.some(({ uuid }) => uuid === null)) {
        return { cards: null, first: null, by: null }; // nobody tells which one it is
      }
      const found = /^[0-9]+$/.test(token)
        ? own[Number(token)]
        : own.find(({ uuid }) => token.startsWith("GPU-") && uuid?.startsWith(token));
      if (found === undefined) break; // as CUDA does: what follows does not count either
      chosen.push(found.at);
    }
    const first = own[0]?.at ?? null, isAll = chosen.length === own.length && chosen[0] === first;
    return { cards: isAll ? null : chosen, first, by };
  }
  return { cards: null, first: null, by: null };
}

/**
 * Tells this process which card to see, before its first look at WebGPU.
 * @param card place among the visible ones; null: the first
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

/** Why there is no card although there are some. */
export function hiddenError(): RgxError {
  const { by } = visibleCards();
  return new UsageError(`this process may use no graphics card: ${by}`, {
    advice: "Compute on the CPU (--device wasm), or ask for a card: sbatch --gres=gpu:1.",
  });
}

function machine(): CardSources {
  return { cards: listCards(), env: processEnv, driver: nvidiaInfo };
}

/** From /proc/driver/nvidia and the device file that it names. */
function nvidiaInfo({ address, vendor }: Card): DriverInfo | null {
  if (vendor !== MAKERS[0].vendor) return null;
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
