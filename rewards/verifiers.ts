/** verifiers' reward: the format of its XMLParser, which environments of its hub read with. */
import { choices } from "../tasks/define.ts";
import { strip } from "../tasks/python/text.ts";
import type { Reward, SampleReward } from "./types.ts";

/** The stripped text of the first part between a tag and its end, or of the `last`; null = none. */
export function taggedText(text: string, tag: string, last = false): string | null {
  const open = `<${tag}>`, close = `</${tag}>`;
  let found: string | null = null;
  for (let at = 0;;) {
    const begin = text.indexOf(open, at), end = text.indexOf(close, begin + open.length);
    if (begin < 0 || end < 0) return found;
    found = strip(text.slice(begin + open.length, end));
    if (!last) return found;
    at = end + close.length;
  }
}

const xmlFormat: SampleReward = {
  name: "xml_format",
  description: "Up to 0.4 for the fields that are there, each as <field>…</field>; 0.2 for a " +
    "completion that begins with the first one, 0.2 for one that ends with the last one, and 0.2 " +
    "for any: verifiers' XMLParser.",
  params: {
    fields: choices(
      ["reasoning", "answer"],
      "names of the tags in their order; code|answer is one or the other",
    ),
  },
  compute({ completion }, { fields }) {
    const sets = (fields as string[]).map((field) => field.split("|"));
    const isWhole = (tag: string) => taggedText(completion, tag) !== null;
    const isThere = (tag: string) =>
      completion.includes(`<${tag}>`) || completion.includes(`</${tag}>`);
    const share = sets.filter((tags) => tags.some(isThere)).length / sets.length;
    const text = strip(completion);
    let value = sets.flat().some(isWhole) ? 0.4 * share : 0;
    value += 0.2;
    if (sets[0]!.some((tag) => text.startsWith(`<${tag}>`))) value += 0.2;
    if (sets.at(-1)!.some((tag) => text.endsWith(`</${tag}>`))) value += 0.2;
    return value;
  },
};

export const VERIFIERS_REWARDS: readonly Reward[] = [xmlFormat];
