/**
 * A hand of 13 letter cards. Each round adds a card, judges it, and removes a card. The rules
 * determine the result of a card. The result is drawn first and then a card that gives it, so that
 * all results are frequent.
 */
import { counts, defineTask, exactScore, type RandomStream } from "../../define.ts";

const LETTERS = 26, HAND = 13;
const RESULTS = ["Peng", "Chi", "Pass"] as const;
type Result = typeof RESULTS[number];

export default defineTask({
  description: "Judge the last of many rounds of a card game.",
  ...exactScore("the result"),
  params: {
    num_rounds: counts([10, 50], "rounds", { min: 1, max: 100_000, levels: [10, 50, 100, 500] }),
  },
  generate(random, config) {
    const count = random.int(config.min_num_rounds, config.max_num_rounds);
    const hand = random.sample(TWO_OF_EACH, HAND);
    const start = letters(hand);
    const rounds: { add: string; remove: string; cards: string; result: Result }[] = [];
    const lines: string[] = [];
    for (let round = 1; round <= count; round++) {
      const [card, result] = drawCard(random, hand);
      hand.push(card);
      const [removed] = hand.splice(random.below(hand.length), 1);
      const add = letters([card]), remove = letters([removed!]);
      rounds.push({ add, remove, cards: letters(hand), result });
      lines.push(`Round ${round}: add ${add}, remove ${remove}`);
    }
    const solution = rounds.at(-1)!.result;
    return {
      question:
        "A hand of 13 cards, each with one letter, is played in rounds. A round adds a new card, " +
        "judges it against the 13 cards in hand before it, and then takes one card away; the " +
        "card taken away plays no part in that round's result.\n" +
        "The result is Peng when the hand holds two cards (or more) with the letter of the new " +
        "card. Otherwise it is Chi when the new card and two cards of the hand are three letters " +
        "that follow each other in the alphabet, such as A B C or M N O, in any order. Otherwise " +
        `it is Pass.\nThe hand at the beginning: ${start}\n` +
        `${lines.join("\n")}\nWhat is the result of the last round? Answer with one word: Peng, ` +
        "Chi or Pass.",
      answer: solution,
      metadata: { rounds, solution },
    };
  },
});

const TWO_OF_EACH = Array.from({ length: 2 * LETTERS }, (_, i) => i >> 1);

/**
 * Draws a result and then a card that gives it, if there is one. Returns the card and its actual
 * result.
 */
function drawCard(random: RandomStream, hand: readonly number[]): [card: number, result: Result] {
  const counts = new Uint8Array(LETTERS);
  for (const card of hand) counts[card]!++;
  const wish = random.choice(RESULTS);
  const all: number[] = [], wished: number[] = [];
  for (let card = 0; card < LETTERS; card++) {
    all.push(card);
    if (judge(counts, card) === wish) wished.push(card);
  }
  const card = random.choice(wished.length > 0 ? wished : all);
  return [card, judge(counts, card)];
}

function judge(counts: Uint8Array, card: number): Result {
  if (counts[card]! >= 2) return "Peng";
  const has = (letter: number) => (counts[letter] ?? 0) > 0;
  const isChi = has(card - 2) && has(card - 1) || has(card - 1) && has(card + 1) ||
    has(card + 1) && has(card + 2);
  return isChi ? "Chi" : "Pass";
}

function letters(cards: readonly number[]): string {
  return String.fromCharCode(...cards.map((card) => 65 + card));
}
