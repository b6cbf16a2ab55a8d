/**
 * Graphics cards that a run can be planned for, although this machine has none. The figures are
 * from the vendors' data sheets: NVIDIA's for H100, H200, B200, A100, A30, A40, A10, L4, L40, L40S,
 * V100, P100, T4 and the RTX series, AMD's for Instinct MI100 to MI325X and Radeon. They are peaks
 * of the fastest mode; programs reach less.
 */
import { UsageError } from "../errors.ts";
import { nearest } from "../suggest.ts";

/** A card as its data sheet describes it. */
export interface KnownCard {
  /** The name of the card for `--gpu`: "h100-80gb". */
  id: string;
  /** The vendor's name. */
  name: string;
  /** Memory in bytes; data sheets count a GB as 10⁹ bytes, drivers report slightly more. */
  memory: number;
  /** Peak of f32 multiply-adds outside of tensor or matrix cores, in operations per second. */
  flops: number;
  /** Peak bandwidth of the memory, in bytes per second. */
  bandwidth: number;
  /** Peak bandwidth of the bus to the host in one direction, in bytes per second. */
  bus: number;
}

/** Bytes per second in one direction of 16 lanes of PCI Express, by its version. */
const PCIE = { 3: 16e9, 4: 32e9, 5: 64e9 } as const;
/** NVLink-C2C of Grace Hopper, and Infinity Fabric of MI300A, to the processor in the package. */
const NVLINK_C2C = 450e9, INFINITY_FABRIC = 128e9;

type Row = [id: string, name: string, gigabytes: number, tflops: number, gbs: number, bus: number];

/**
 * If several cards have the same model name, the name alone means the first of them. The dies of an
 * MI250 and MI250X are two cards for the system: a row has half of the module's figures.
 */
const ROWS: readonly Row[] = [
  ["h100-80gb", "NVIDIA H100 SXM 80 GB", 80, 67, 3350, PCIE[5]],
  ["h100-80gb-pcie", "NVIDIA H100 PCIe 80 GB", 80, 51, 2000, PCIE[5]],
  ["h100-94gb-nvl", "NVIDIA H100 NVL 94 GB", 94, 60, 3900, PCIE[5]],
  ["h200-141gb", "NVIDIA H200 SXM 141 GB", 141, 67, 4800, PCIE[5]],
  ["h200-141gb-nvl", "NVIDIA H200 NVL 141 GB", 141, 60, 4800, PCIE[5]],
  ["gh200-96gb", "NVIDIA GH200 96 GB", 96, 67, 4000, NVLINK_C2C],
  ["gh200-144gb", "NVIDIA GH200 144 GB", 144, 67, 4900, NVLINK_C2C],
  ["b200-180gb", "NVIDIA B200 180 GB", 180, 75, 8000, PCIE[5]],
  ["a100-40gb", "NVIDIA A100 40 GB", 40, 19.5, 1555, PCIE[4]],
  ["a100-80gb", "NVIDIA A100 SXM 80 GB", 80, 19.5, 2039, PCIE[4]],
  ["a100-80gb-pcie", "NVIDIA A100 PCIe 80 GB", 80, 19.5, 1935, PCIE[4]],
  ["a30-24gb", "NVIDIA A30 24 GB", 24, 10.3, 933, PCIE[4]],
  ["a40-48gb", "NVIDIA A40 48 GB", 48, 37.4, 696, PCIE[4]],
  ["a10-24gb", "NVIDIA A10 24 GB", 24, 31.2, 600, PCIE[4]],
  ["l4-24gb", "NVIDIA L4 24 GB", 24, 30.3, 300, PCIE[4]],
  ["l40-48gb", "NVIDIA L40 48 GB", 48, 90.5, 864, PCIE[4]],
  ["l40s-48gb", "NVIDIA L40S 48 GB", 48, 91.6, 864, PCIE[4]],
  ["a6000-48gb", "NVIDIA RTX A6000 48 GB", 48, 38.7, 768, PCIE[4]],
  ["a5000-24gb", "NVIDIA RTX A5000 24 GB", 24, 27.8, 768, PCIE[4]],
  ["a4000-16gb", "NVIDIA RTX A4000 16 GB", 16, 19.2, 448, PCIE[4]],
  ["rtx6000ada-48gb", "NVIDIA RTX 6000 Ada 48 GB", 48, 91.1, 960, PCIE[4]],
  ["rtxpro6000-96gb", "NVIDIA RTX PRO 6000 Blackwell 96 GB", 96, 125, 1792, PCIE[5]],
  ["rtx3060-12gb", "NVIDIA GeForce RTX 3060 12 GB", 12, 12.7, 360, PCIE[4]],
  ["rtx3080-10gb", "NVIDIA GeForce RTX 3080 10 GB", 10, 29.8, 760, PCIE[4]],
  ["rtx3090-24gb", "NVIDIA GeForce RTX 3090 24 GB", 24, 35.6, 936, PCIE[4]],
  ["rtx3090ti-24gb", "NVIDIA GeForce RTX 3090 Ti 24 GB", 24, 40, 1008, PCIE[4]],
  ["rtx4070-12gb", "NVIDIA GeForce RTX 4070 12 GB", 12, 29.1, 504, PCIE[4]],
  ["rtx4080-16gb", "NVIDIA GeForce RTX 4080 16 GB", 16, 48.7, 717, PCIE[4]],
  ["rtx4090-24gb", "NVIDIA GeForce RTX 4090 24 GB", 24, 82.6, 1008, PCIE[4]],
  ["rtx5080-16gb", "NVIDIA GeForce RTX 5080 16 GB", 16, 56.3, 960, PCIE[5]],
  ["rtx5090-32gb", "NVIDIA GeForce RTX 5090 32 GB", 32, 104.8, 1792, PCIE[5]],
  ["v100-16gb", "NVIDIA V100 SXM2 16 GB", 16, 15.7, 900, PCIE[3]],
  ["v100-16gb-pcie", "NVIDIA V100 PCIe 16 GB", 16, 14, 900, PCIE[3]],
  ["v100-32gb", "NVIDIA V100 SXM2 32 GB", 32, 15.7, 900, PCIE[3]],
  ["v100-32gb-pcie", "NVIDIA V100 PCIe 32 GB", 32, 14, 900, PCIE[3]],
  ["p100-16gb", "NVIDIA P100 16 GB", 16, 9.3, 732, PCIE[3]],
  ["t4-16gb", "NVIDIA T4 16 GB", 16, 8.1, 300, PCIE[3]],
  ["mi100-32gb", "AMD Instinct MI100 32 GB", 32, 23.1, 1229, PCIE[4]],
  ["mi210-64gb", "AMD Instinct MI210 64 GB", 64, 22.6, 1638, PCIE[4]],
  ["mi250-64gb", "AMD Instinct MI250, one die with 64 GB", 64, 22.6, 1638, PCIE[4]],
  ["mi250x-64gb", "AMD Instinct MI250X, one die with 64 GB", 64, 23.9, 1638, PCIE[4]],
  ["mi300a-128gb", "AMD Instinct MI300A 128 GB", 128, 122.6, 5300, INFINITY_FABRIC],
  ["mi300x-192gb", "AMD Instinct MI300X 192 GB", 192, 163.4, 5300, PCIE[5]],
  ["mi325x-256gb", "AMD Instinct MI325X 256 GB", 256, 163.4, 6000, PCIE[5]],
  ["rx7900xtx-24gb", "AMD Radeon RX 7900 XTX 24 GB", 24, 61.4, 960, PCIE[4]],
  ["w7900-48gb", "AMD Radeon PRO W7900 48 GB", 48, 61.3, 864, PCIE[4]],
];

/** All known cards. */
export const KNOWN_CARDS: readonly KnownCard[] = ROWS.map(
  ([id, name, gigabytes, tflops, gbs, bus]) => ({
    id,
    name,
    bus,
    memory: gigabytes * 1e9,
    flops: tflops * 1e12,
    bandwidth: gbs * 1e9,
  }),
);

/** Words in names of vendors and drivers that do not distinguish cards. */
const FILLERS =
  /nvidia|amd|geforce|tesla|instinct|radeon|quadro|graphics|blackwell|tensor|core|generation|gpu|card|hbm[23]e?|gddr\d\w?|rtx|pro|oam|hgx|dgx/g;

/** The parts of a name: "H100-80GB PCIe" is { model: "h100", gigabytes: 80, form: "pcie" }. */
interface NameParts {
  model: string;
  gigabytes: number | null;
  form: string | null;
}

function partsOf(text: string): NameParts {
  let rest = text.toLowerCase().replace(FILLERS, " ");
  const take = (pattern: RegExp): string | null => {
    const found = pattern.exec(rest)?.[1] ?? null;
    if (found !== null) rest = rest.replace(pattern, " ");
    return found;
  };
  const form = take(/(sxm|pcie|nvl)\d?(?![a-z])/);
  const gigabytes = take(/(\d+)\s*gi?b?(?![a-z])/);
  return {
    model: rest.replace(/[^a-z0-9]/g, ""),
    gigabytes: gigabytes === null ? null : Number(gigabytes),
    form,
  };
}

const CARD_PARTS = KNOWN_CARDS.map((card) => ({ card, parts: partsOf(card.id) }));

function cardNames(): string {
  return KNOWN_CARDS.map(({ id }) => id).join(", ");
}

/**
 * The card with this name. Case, spaces and the vendor's words do not matter: "h100", "H100-80GB",
 * "NVIDIA A100-SXM4-80GB", "4090" and "rtx 4090" are names.
 * @param flag what to call the value in messages
 * @throws UsageError for a card that is not known, with a similar name and the list
 */
export function findCard(name: string, flag = "--gpu"): KnownCard {
  const wanted = partsOf(name);
  const sameModel = CARD_PARTS.filter(({ parts }) => parts.model === wanted.model);
  const found = sameModel.find(({ card, parts }) =>
    (wanted.gigabytes === null || parts.gigabytes === wanted.gigabytes) &&
    (wanted.form === null || (formIn(card.name) ?? wanted.form) === wanted.form)
  );
  if (found !== undefined) return found.card;
  const advice = `--device-memory 24GB plans for a card that is not listed. Known cards: ` +
    `${cardNames()}.`;
  if (sameModel.length > 0) {
    const ids = sameModel.map(({ card }) => card.id).join(", ");
    throw new UsageError(`${flag} ${name}: no such card, only ${ids}`, { advice });
  }
  const near = nearest(wanted.model, CARD_PARTS.map(({ parts }) => parts.model));
  const similar = CARD_PARTS.find(({ parts }) => parts.model === near)?.card.id;
  const hint = similar === undefined ? "" : `, did you mean ${similar}?`;
  throw new UsageError(`${flag} ${name}: unknown card${hint}`, { advice });
}

/** The card with this name; of several with one model ("a100"), the one with the most memory. */
export function largestCard(name: string): KnownCard {
  const card = findCard(name), { model, gigabytes } = partsOf(name);
  if (gigabytes !== null) return card;
  return CARD_PARTS.filter(({ parts }) => parts.model === model)
    .map((other) => other.card)
    .reduce((largest, other) => other.memory > largest.memory ? other : largest, card);
}

/** The form of a card in a name, "sxm" in "NVIDIA H100 SXM 80 GB"; null: any form is meant. */
function formIn(name: string): string | null {
  return /(sxm|pcie|nvl)/.exec(name.toLowerCase())?.[1] ?? null;
}

const UNITS: Readonly<Record<string, number>> = {
  mb: 1e6,
  gb: 1e9,
  g: 1e9,
  tb: 1e12,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Limits of a card's memory: with less it holds no model, and no card has more. */
const MIN_MEMORY = 2 ** 28, MAX_MEMORY = 2 ** 44;

/** Bytes of a memory: "80GB" (10⁹ each), "24GiB" (2³⁰ each), "512 MiB". @throws UsageError */
export function parseDeviceMemory(text: string, flag = "--device-memory"): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]+)?$/i.exec(text.trim()) ?? [];
  const example = "expected a size with its unit, for example 80GB or 24GiB";
  if (number === undefined) throw new UsageError(`${flag} ${text}: ${example}`);
  if (unit === undefined) {
    throw new UsageError(`${flag} ${text}: has no unit, ${example}`, {
      advice: `Write ${flag} ${number}GB.`,
    });
  }
  const factor = UNITS[unit.toLowerCase()];
  if (factor === undefined) {
    throw new UsageError(`${flag} ${text}: unknown unit ${unit}, ${example}`);
  }
  const bytes = Number(number) * factor;
  if (bytes < MIN_MEMORY || bytes > MAX_MEMORY) {
    throw new UsageError(
      `${flag} ${text}: expected between 256MiB and 16TiB`,
    );
  }
  return Math.floor(bytes);
}
