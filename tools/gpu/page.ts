/** The section of docs/gpu.md for a card: what a campaign has found, as Markdown. */
import { counted } from "../../core/counted.ts";
import { findCard, type KnownCard } from "../../core/machine/known_cards.ts";
import { bytesText } from "../../core/bytes.ts";
import type { Tuned } from "../../kernels/tuning/tuner.ts";
import { table, withSection } from "../performance_page.ts";
import type { DecodeRow, StepResult } from "./model.ts";
import type { Conformance } from "./parts.ts";
import type { PeerProduct, PeerStep } from "./peers.ts";
import { type Bus, type ProductRow, TYPES } from "./speed.ts";

/** What a campaign has found; a part that was left out is absent. */
export interface CampaignResult {
  card: string;
  device: string;
  driver: string;
  software: boolean;
  deno: string;
  rgx: string;
  date: string;
  minutes: number;
  conformance?: Conformance;
  tuning?: Tuned;
  products?: ProductRow[];
  bus?: Bus;
  decode?: DecodeRow[];
  step?: StepResult;
  torch?: PeerProduct[] | string;
  peer?: PeerStep | string;
  /** Parts that were not begun for lack of time, or failed, with the reason. */
  left: string[];
}

const fixed = (n: number, digits = 2) => n.toFixed(digits);

/** The text of the section, without its title. */
function cardSection(found: CampaignResult): string {
  const { tuning, left, conformance } = found;
  const parts = [
    `_${found.date}, rgx ${found.rgx}, Deno ${found.deno}, device ${found.device}; driver: ` +
    `${found.driver}; ${fixed(found.minutes, 1)} minutes._`,
    found.software
      ? "**A CPU emulates this card: its times say nothing.**"
      : table(["goal", "best of this card"], goals(found)),
  ];
  if (conformance !== undefined) {
    const { cases, wrong, left: unrun } = conformance;
    parts.push(
      `Conformance: ${cases - wrong.length} of ${cases} cases agree with the reference in float64` +
        `${unrun > 0 ? `; ${unrun} were not run for lack of time` : ""}.`,
      ...(wrong.length > 0 ? [wrong.map((text) => `- wrong: ${text}`).join("\n")] : []),
    );
  }
  if (tuning !== undefined) parts.push(...tuningText(tuning));
  parts.push(...speedTexts(found));
  if (left.length > 0) parts.push(`Left out: ${left.join("; ")}.`);
  return parts.join("\n\n");
}

/** What a card can reach at most, null where that is not known, and its name. */
type Peak = [peak: number | null, name: string];

/** Figures that the project wants to reach, each with what was found. */
function goals(found: CampaignResult): [goal: string, found: string][] {
  const { card, products, decode, torch, step, peer, bus } = found, known = knownCard(card);
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  /** The share of each peak that is known: of the data sheet, and of what was measured. */
  const ofPeaks = (value: number, all: Peak[]) =>
    all.flatMap(([peak, name]) => peak === null ? [] : [`${percent(value / peak)} of ${name}`])
      .join(", ") || "the peak is not known";
  const speeds = (type: string) =>
    (products ?? []).flatMap((row) => row.type === type ? [row.tflops] : []);
  const ofTorch = (products ?? []).filter(({ type }) => type === "bfloat16").flatMap((row) => {
    const other = Array.isArray(torch) ? torch.find(({ what }) => what === row.what) : undefined;
    return other === undefined ? [] : [row.tflops / other.bfloat16];
  });
  const beside = ofTorch.length === 0 ? "" : `, ${percent(Math.max(...ofTorch))} of torch's speed`;
  const sheet = (value: number | undefined, scale: number, unit: string): Peak => {
    const scaled = (value ?? 0) / scale;
    return [value === undefined ? null : scaled, `${fixed(scaled, 0)} ${unit} (data sheet)`];
  };
  const read = Math.max(...(decode ?? []).map(({ gb_per_s }) => gb_per_s));
  return [
    [
      "products in float32: 60 % of the peak",
      speeds("float32").length === 0
        ? "not measured"
        : ofPeaks(Math.max(...speeds("float32")), [sheet(known?.flops, 1e12, "TFLOP/s")]),
    ],
    [
      "products in bfloat16, on vulkan",
      speeds("bfloat16").length === 0
        ? "not measured"
        : `${fixed(Math.max(...speeds("bfloat16")))} TFLOP/s${beside}`,
    ],
    [
      "decoding: 40 % of the memory's bandwidth",
      decode === undefined || decode.length === 0 ? "not measured" : ofPeaks(read, [
        sheet(known?.bandwidth, 1e9, "GB/s"),
        [bus?.copy ?? null, `${fixed(bus?.copy ?? 0, 1)} GB/s of a copy (measured)`],
      ]),
    ],
    ["a GRPO step: faster than transformers and PEFT", timesAsFast(step, peer)],
  ];
}

function timesAsFast(step: CampaignResult["step"], peer: CampaignResult["peer"]): string {
  if (step === undefined || typeof peer !== "object") return "not measured";
  const ours = step.phases["generate"], theirs = peer.phases["generate"];
  const generation = ours === undefined || theirs === undefined
    ? ""
    : `, generation ${fixed(theirs / ours)} times`;
  return `${fixed(peer.seconds / step.seconds)} times as fast${generation}`;
}

/** The goals of a device and what was found, for the terminal. */
export const goalLines = (found: CampaignResult): string[] => [
  `${found.card}, ${found.device}${found.software ? " (a CPU: its times say nothing)" : ""}:`,
  ...goals(found).map(([goal, text]) => `  ${goal}: ${text}`),
];

/** The card in the table of data sheets; null where it is not in it. */
function knownCard(name: string): KnownCard | null {
  try {
    return findCard(name);
  } catch {
    return null;
  }
}

function tuningText({ choices, bad, measured, known, left }: Tuned): string[] {
  const faster = Object.entries(choices).filter(([, { kernel, rule }]) => kernel !== rule);
  const rows = faster.map(([name, { kernel, ms, rule, rule_ms }]) => [
    name,
    kernel,
    rule,
    ms === null || rule_ms === null ? "" : fixed(rule_ms / ms),
  ]);
  const wrong = Object.entries(bad).flatMap(([name, reasons]) =>
    Object.entries(reasons).map(([kernel, why]) => `- ${name}, ${kernel}: ${why}`)
  );
  return [
    `Kernels: ${counted(measured, "shape")} measured` +
    `${known > 0 ? `, ${known} known from before` : ""}` +
    `${left > 0 ? `, no time for ${left}` : ""}; for ${faster.length} of them another kernel ` +
    "than the rule's is faster, and used below.",
    ...(rows.length > 0
      ? [table(["shape", "kernel", "kernel of the rule", "times as fast"], rows)]
      : []),
    ...(wrong.length > 0 ? [`Kernels that are not used:\n\n${wrong.join("\n")}`] : []),
  ];
}

function speedTexts(found: CampaignResult): string[] {
  const { products, bus, decode, step, torch, peer } = found;
  const texts: string[] = [];
  if (products !== undefined) {
    const peers = Array.isArray(torch) ? torch : [];
    const speeds = (what: string, type: string) => {
      const row = products.find((row) => row.what === what && row.type === type);
      return row === undefined ? "–" : fixed(row.tflops, 3);
    };
    const torchOf = (what: string) => {
      const row = peers.find((row) => row.what === what);
      return row === undefined
        ? []
        : [row.float32, row.tfloat32, row.float16, row.bfloat16].map((x) => fixed(x, 1));
    };
    const heads = peers.length > 0 ? ["float32", "TF32", "float16", "bfloat16"] : [];
    texts.push(
      "Products x·Wᵀ, TFLOP/s:",
      table(
        ["m × n × k", ...TYPES, ...heads.map((name) => `torch ${name}`)],
        products.filter(({ type }) => type === "float32").map(({ what, m, n, k }) => [
          `${what}: ${m} × ${n} × ${k}`,
          ...TYPES.map((type) => speeds(what, type)),
          ...torchOf(what),
        ]),
      ),
    );
  }
  if (typeof torch === "string") texts.push(`torch: ${torch}.`);
  if (bus !== undefined) {
    const { copy, dispatch_us, to_card, from_card, look_us } = bus;
    texts.push(
      `A dispatch takes ${fixed(dispatch_us, 1)} µs of the host. To the card ${fixed(to_card)} ` +
        `GB/s, from it ${fixed(from_card)} GB/s; reading four bytes takes ` +
        `${fixed(look_us, 0)} µs. A copy in its memory: ${fixed(copy, 1)} GB/s.`,
    );
  }
  if (decode !== undefined) {
    texts.push(
      "Decoding:",
      table(
        ["branches", "tokens/s", "ms a step", "GB/s", "dispatches a step"],
        decode.map((row) => [
          String(row.branches),
          fixed(row.tokens_per_s, 0),
          fixed(row.ms_per_step),
          fixed(row.gb_per_s, 1),
          fixed(row.dispatches_per_step, 0),
        ]),
      ),
    );
  }
  if (step !== undefined) texts.push(stepText(step, peer));
  return texts;
}

function stepText(step: StepResult, peer: PeerStep | string | undefined): string {
  const { seconds, phases, peak_bytes, planned_bytes, read_bytes, shape } = step;
  const times = Object.entries(phases).map(([name, s]) => `${name} ${fixed(s)} s`).join(", ");
  const beside = peer === undefined
    ? ""
    : typeof peer === "string"
    ? ` Beside transformers and PEFT: ${peer}.`
    : ` transformers and PEFT take ${fixed(peer.seconds)} s: ` +
      `${fixed(peer.seconds / seconds)} times as long.`;
  return `A GRPO step of ${shape}: ${fixed(seconds)} s (${times}). Memory ` +
    `${bytesText(peak_bytes)} at most, ${bytesText(planned_bytes)} planned; ` +
    `${bytesText(read_bytes)} read from the card.${beside}`;
}

/** The page with the new section of this card. */
export function withCard(page: string, found: CampaignResult): string {
  return withSection(page, `Measured: ${found.card}, ${found.device}`, cardSection(found));
}
