/**
 * A fuzzer of the equality of answers. It writes golds in ways that keep their meaning (these must
 * be right) and in ways that change it (these must be wrong), and counts the mistakes.
 *
 *     deno run -A tests/answers/fuzz.ts 100000 [seed]
 */
import { RandomStream } from "../../core/philox.ts";
import { sameAnswer } from "../../data/math_answer/equal.ts";
import { printChanged } from "./change_gold.ts";
import { randomGold } from "./golds.ts";
import { printSame } from "./print_gold.ts";

interface Mistake {
  answer: string;
  gold: string;
  how: string;
}

/** Mistakes among `count` rewritten and `count` changed golds. */
export interface Fuzzed {
  count: number;
  falseWrongs: Mistake[];
  falseRights: Mistake[];
}

export function fuzz(count: number, seed = 1): Fuzzed {
  const random = RandomStream.forPurpose(seed, "shuffle", "answers");
  const falseWrongs: Mistake[] = [], falseRights: Mistake[] = [];
  for (let i = 0; i < count; i++) {
    const { text, gold } = randomGold(random);
    const same = printSame(gold, random), changed = printChanged(gold, random);
    if (!sameAnswer(same, text)) falseWrongs.push({ answer: same, gold: text, how: gold.kind });
    if (sameAnswer(changed.text, text)) {
      falseRights.push({ answer: changed.text, gold: text, how: changed.how });
    }
  }
  return { count, falseWrongs, falseRights };
}

/** The figures, and some mistakes of each kind of change. */
export function report({ count, falseWrongs, falseRights }: Fuzzed): string {
  const lines: string[] = [];
  for (const [name, mistakes] of Object.entries({ falseRights, falseWrongs })) {
    const percent = (100 * mistakes.length / count).toFixed(3);
    lines.push(`${name}: ${mistakes.length} of ${count} (${percent} %)`);
    for (const [how, some] of Object.entries(Object.groupBy(mistakes, ({ how }) => how))) {
      lines.push(`  ${how}: ${some!.length}`);
      for (const { answer, gold } of some!.slice(0, 4)) lines.push(`    ${answer}  ‖  ${gold}`);
    }
  }
  return lines.join("\n");
}

if (import.meta.main) {
  const [count = "20000", seed = "1"] = Deno.args;
  console.log(report(fuzz(Number(count), Number(seed))));
}
