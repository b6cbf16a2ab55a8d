/**
 * Who lives in which house? Clues on names, animals, drinks … of neighbours (Einstein's riddle).
 */
import { defineTask, int, levels } from "../../define.ts";
import type { ScorableEntry } from "../../types.ts";
import { type Clue, drawClues } from "./zebra_clues.ts";
import { capitalize } from "../../text/spelling.ts";

interface Category {
  label: string;
  values: readonly string[];
  /** The phrase for the person who has a value. */
  says(value: string): string;
}

const NAMES =
  "alice arnold bob bruno carol clara david doris edgar emily felix fiona george greta hugo " +
  "irene jonas karin lucas maria nadia oscar paula peter quentin rita simon tessa victor wanda";

const NAME: Category = { label: "name", values: NAMES.split(" "), says: capitalize };

const CATEGORIES: readonly Category[] = [
  category("favourite colour", "red, blue, green, yellow, white, purple, orange, brown", "likes *"),
  category(
    "nationality",
    "Danish, German, Chinese, British, Spanish, Kenyan, Peruvian, Indian",
    "is *",
  ),
  category("animal", "cat, dog, horse, parrot, goldfish, rabbit, tortoise, hamster", "keeps a *"),
  category("drink", "tea, coffee, milk, water, lemonade, cocoa, cider, root beer", "drinks *"),
  category(
    "cigar",
    "corona, robusto, torpedo, panatela, lancero, churchill, perfecto, toro",
    "smokes a *",
  ),
  category("food", "pizza, soup, noodles, salad, curry, dumplings, stew, risotto", "eats *"),
  category(
    "flower",
    "roses, tulips, lilies, daffodils, violets, orchids, daisies, carnations",
    "grows *",
  ),
  category(
    "phone model",
    "Orbit 5, Pebble X, Nimbus 2, Quartz 10, Falcon S, Lumen 7, Comet Air, Delta 3",
    "has the phone model *",
  ),
  category(
    "child",
    "Ada, Ben, Cora, Dan, Ella, Finn, Gus, Hana",
    "has a child called *",
  ),
  category(
    "smoothie",
    "mango, cherry, banana, kiwi, coconut, melon, blueberry, peach",
    "buys the * smoothie",
  ),
];

export default defineTask({
  description: "Find out who lives in a house from clues about the neighbours.",
  scoring: "1 for the name, in any case and whatever the line breaks, else 0.",
  params: {
    num_people: int(4, "number of houses, with a person each", { min: 2, max: 7 }),
    num_characteristics: int(4, "number of categories, the name among them", { min: 2, max: 7 }),
  },
  curriculum: {
    num_people: levels([2, 3, 4, 5, 6, 7], "number of houses"),
    num_characteristics: levels([2, 3, 4, 5, 6, 7], "number of categories"),
  },
  generate(random, config) {
    const { num_people: houses, num_characteristics: count } = config;
    const categories = [NAME, ...random.sample(CATEGORIES, count - 1)];
    const values = categories.map((one) => random.sample(one.values, houses));
    const order = Array.from({ length: houses }, (_, house) => house);
    const solution = categories.flatMap(() => random.shuffle(order.slice()));
    const asked = random.below(houses);
    const answer = solution.indexOf(asked);
    const clues = drawClues(random, { houses, categories: count, solution }, answer);
    const lists = categories.map(({ label }, i) => `${label}: ${values[i]!.join(", ")}`);
    return {
      question:
        `${houses} houses stand in a row, numbered from 1 on the left to ${houses} on the right. ` +
        "In each lives one person. Each of these belongs to exactly one of them, and every " +
        `person has one of each kind:\n${lists.join("\n")}\n` +
        clues.map((clue, i) => `${i + 1}. ${capitalize(spell(clue))}.`).join("\n") +
        `\nWhat is the name of the person in house ${asked + 1}? Answer with the name alone.`,
      answer: values[0]![answer]!,
      metadata: {},
    };

    function spell({ kind, a, b }: Clue): string {
      if (kind === "at") return `${person(a)} lives in house ${b + 1}`;
      if (kind === "same") return `${person(a)} ${saying(b)}`;
      return kind === "left"
        ? `${person(a)} lives directly to the left of ${person(b)}`
        : `${person(a)} and ${person(b)} live next to each other`;
    }

    function saying(value: number): string {
      const of = Math.floor(value / houses);
      return categories[of]!.says(values[of]![value % houses]!);
    }

    function person(value: number): string {
      return value < houses ? saying(value) : `the person who ${saying(value)}`;
    }
  },
  score(answer: string, entry: ScorableEntry) {
    const [given, oracle] = [answer, entry.answer ?? ""]
      .map((text) => text.toLowerCase().replaceAll("\n", ""));
    return Number(given === oracle);
  },
});

/** Makes a category of comma-separated `values`. In `sentence`, * stands for the value. */
function category(label: string, values: string, sentence: string): Category {
  return {
    label,
    values: values.split(", "),
    says: (value) => sentence.replace("*", value),
  };
}
