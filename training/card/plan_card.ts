/**
 * The graphics card that a run is planned for, which need not be in this machine: a known one by
 * its name, or any with some memory.
 */
import { bytesText } from "../../core/bytes.ts";
import { findCard, type KnownCard, parseDeviceMemory } from "../../core/machine/known_cards.ts";
import type { PlanDevice } from "../memory/run_memory.ts";

/** A card that a run is planned for. */
export interface PlanCard {
  /** As in the table of known cards, or its size. */
  name: string;
  /** Bytes, as the data sheet or the user says. */
  memory: number;
  /** Null: only the memory is given, so times are not known. */
  figures: KnownCard | null;
}

/**
 * Share of the memory that a run can have: beyond it WebGPU refuses to create buffers. The driver's
 * own memory is covered by the difference between the data sheet's GB and the card's GiB.
 */
const USABLE = 0.97;

/**
 * WebGPU's limit on one buffer: NVIDIA's drivers allow allocations of 2 MiB less than 4 GiB, other
 * drivers on Linux less than 2 GiB.
 */
const NVIDIA_BUFFER = 2 ** 32 - 2 ** 21, OTHER_BUFFER = 2 ** 31 - 16;

/** A known card by its name, or any with some memory ("24GB"). @throws UsageError */
export function planCard(
  wanted: { gpu: string; deviceMemory?: undefined } | { deviceMemory: string; gpu?: undefined },
): PlanCard {
  if (wanted.gpu !== undefined) {
    const figures = findCard(wanted.gpu);
    return { name: figures.name, memory: figures.memory, figures };
  }
  const memory = parseDeviceMemory(wanted.deviceMemory);
  return { name: `a card with ${bytesText(memory)}`, memory, figures: null };
}

export function usableBytes({ memory }: PlanCard): number {
  return Math.floor(USABLE * memory);
}

/** The card as the device that memory is planned for. */
export function cardDevice({ name, figures }: PlanCard): PlanDevice {
  const isOther = figures !== null && !figures.name.startsWith("NVIDIA");
  return {
    name: "webgpu",
    float: "f32",
    adapter: { name, vendor: 0, device: 0, software: false },
    allocatedBytes: 0,
    largestTensor: isOther ? OTHER_BUFFER : NVIDIA_BUFFER,
  };
}
