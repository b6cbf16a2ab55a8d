/** TRL's switch for adapters: without it, TRL's keys of an adapter have no effect there. */
import type { Translation } from "./translation.ts";

/** Keys with the same names in TRL and in rgx. */
const SAME = ["lora_alpha", "lora_dropout"];

/** Notes that an adapter is trained where only TRL's keys of one are written, not `use_peft`. */
export function noteAdapter(translation: Translation): void {
  const lora = translation.node("lora");
  if (lora?.kind !== "map") return;
  const entries = [...lora.entries].map(([name, { node }]) => ({ name, node }));
  const first = entries.find(({ node }) => /^lora_/.test(node.foreign ?? ""));
  const isTrl = ({ name, node }: typeof entries[number]) =>
    node.at.source === first?.node.at.source &&
    (SAME.includes(name) || /^lora_/.test(node.foreign ?? ""));
  if (first === undefined || !entries.every(isTrl)) return;
  const text = "trains an adapter; TRL would train all weights, as use_peft is not written: " +
    "write use_peft: true or false";
  translation.note(first.node, first.node.foreign!, text);
}
