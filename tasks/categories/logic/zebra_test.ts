/**
 * Tries every arrangement of zebra_puzzles against the clues as worded, and tests their variety.
 */
import assert from "node:assert/strict";
import { entriesOf } from "../../testing.ts";

interface Puzzle {
  houses: number;
  /** The values of each category; the names come first. */
  lists: string[][];
  labels: string[];
  clues: { text: string; kind: string; values: string[]; house: number }[];
  asked: number;
}

function read(question: string): Puzzle {
  const houses = Number(question.split(" ")[0]);
  const lines = [...question.matchAll(/^([a-z ]+): (.+)$/gm)];
  const lists = lines.map((match) => match[2]!.split(", "));
  const words = lists.flat();
  const clues = [...question.matchAll(/^\d+\. (.+)\.$/gm)].map(([, text]) => {
    const place = / lives in house (\d+)$/.exec(text!);
    const kind = place
      ? "at"
      : / lives directly to the left of /.test(text!)
      ? "left"
      : / live next to each other$/.test(text!)
      ? "beside"
      : "same";
    const values = words
      .map((word) => ({ word, at: text!.search(new RegExp(`\\b${word}\\b`, "i")) }))
      .filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at).map(({ word }) => word);
    assert.equal(values.length, kind === "at" ? 1 : 2, `${text}: ${values}`);
    return { text: text!, kind, values, house: Number(place?.[1] ?? 0) };
  });
  const asked = Number(/the person in house (\d+)\?/.exec(question)![1]);
  return { houses, lists, labels: lines.map((match) => match[1]!), clues, asked };
}

function permutations(items: readonly string[]): string[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest])
  );
}

/**
 * The names in the asked house for all arrangements that fit, adding one category after another.
 */
function solve({ houses, lists, clues, asked }: Puzzle): string[] {
  let partial: Map<string, number>[] = [new Map()];
  const placed = new Set<string>();
  for (const list of lists) {
    list.forEach((value) => placed.add(value));
    const checkable = clues.filter(({ values }) =>
      values.every((value) => placed.has(value)) && values.some((value) => list.includes(value))
    );
    const orders = permutations(list);
    partial = partial.flatMap((before) =>
      orders.map((order) => new Map([...before, ...order.map((v, i) => [v, i + 1] as const)]))
        .filter((houseOf) =>
          checkable.every(({ kind, values, house }) => {
            const a = houseOf.get(values[0]!)!, b = houseOf.get(values[1]!)!;
            if (kind === "at") return a === house;
            if (kind === "same") return a === b;
            return kind === "left" ? a + 1 === b : Math.abs(a - b) === 1;
          })
        )
    );
  }
  assert.equal(partial.length, 1, "exactly one arrangement fits");
  assert.ok(asked >= 1 && asked <= houses);
  return partial.map((houseOf) => lists[0]!.find((name) => houseOf.get(name) === asked)!);
}

Deno.test("zebra_puzzles: exactly one arrangement fits the clues, with the answer", () => {
  const configs = [
    { seed: 1, size: 30 },
    { seed: 2, size: 40, num_people: 3, num_characteristics: 5 },
    { seed: 3, size: 40, num_people: 2, num_characteristics: 2 },
    { seed: 4, size: 30, num_people: 2, num_characteristics: 7 },
    { seed: 5, size: 3, num_people: 5, num_characteristics: 3 },
  ];
  for (const { question, answer } of entriesOf("zebra_puzzles", configs)) {
    assert.deepEqual(solve(read(question)), [answer], question);
  }
});

Deno.test("zebra_puzzles: every clue is needed, none names the asked person directly", () => {
  for (const { question, answer } of entriesOf("zebra_puzzles", [{ size: 15, num_people: 3 }])) {
    const puzzle = read(question);
    puzzle.clues.forEach((left, i) => {
      const clues = puzzle.clues.filter((_, j) => j !== i);
      assert.throws(
        () => solve({ ...puzzle, clues }),
        /exactly one/,
        `${question}\n${left.text}`,
      );
      assert.ok(left.kind !== "at" || left.values[0] !== answer);
    });
  }
});

Deno.test("zebra_puzzles vary: houses, names, categories, kinds and number of clues", () => {
  const puzzles = entriesOf("zebra_puzzles", [{ size: 400 }]).map(({ question, answer }) => ({
    ...read(question),
    answer: answer!,
  }));
  const share = (is: (puzzle: typeof puzzles[number]) => boolean) =>
    puzzles.filter(is).length / puzzles.length;
  for (let house = 1; house <= 4; house++) {
    const asked = share((puzzle) => puzzle.asked === house);
    assert.ok(asked > 0.15 && asked < 0.35, `house ${house} is asked in ${asked}`);
    const listed = share(({ lists, answer }) => lists[0]![house - 1] === answer);
    assert.ok(listed > 0.15 && listed < 0.35, `the answer is name ${house} in ${listed}`);
  }
  const labels = new Set(puzzles.flatMap((puzzle) => puzzle.labels.slice(1)));
  assert.equal(labels.size, 10);
  for (const label of labels) {
    assert.ok(share(({ labels }) => labels.includes(label)) > 0.2, label);
  }
  assert.ok(new Set(puzzles.map(({ answer }) => answer)).size >= 25);
  const clues = puzzles.flatMap((puzzle) => puzzle.clues);
  for (const kind of ["at", "same", "left", "beside"]) {
    const part = clues.filter((clue) => clue.kind === kind).length / clues.length;
    assert.ok(part > 0.05 && part < 0.7, `${kind} is ${part} of all clues`);
  }
  assert.ok(new Set(clues.map(({ text }) => text)).size > 0.8 * clues.length);
  const counts = puzzles.map((puzzle) => puzzle.clues.length).sort((a, b) => a - b);
  assert.ok(counts[40]! < counts[360]!, "the number of clues varies");
  assert.ok(
    counts[200]! >= 7 && counts[200]! <= 13,
    `the median puzzle has ${counts[200]} clues`,
  );
});
