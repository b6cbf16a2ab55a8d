/**
 * English sentences with a given number of words: those of the story, and sentences made by a small
 * grammar where more or longer ones are needed. A clause consists of a subject, a verb and perhaps
 * an object; places, times, adjectives and adverbs fill it up to its length. Long sentences join
 * several clauses. Words consist of letters only and are separated by one space; commas and the
 * final full stop directly follow a word.
 */
import type { RandomStream } from "../../core/philox.ts";
import { wordList } from "./lists.ts";
import { story } from "./story.ts";

/** Minimum number of words of a clause that is joined to another, and maximum of any clause. */
const MIN_JOINED_LENGTH = 4, MAX_CLAUSE_LENGTH = 12;

let sentences: Map<number, string[]> | undefined;

/** The sentences of the story, grouped by their number of words. */
export function storySentences(): ReadonlyMap<number, readonly string[]> {
  if (sentences === undefined) {
    sentences = new Map();
    for (const sentence of story().replace(/\s+/g, " ").match(/[^.]+\./g)!) {
      const text = sentence.trim(), count = text.split(" ").length;
      const known = sentences.get(count);
      if (known === undefined) sentences.set(count, [text]);
      else known.push(text);
    }
  }
  return sentences;
}

/** Makes a sentence of exactly `count` ≥ 1 words. */
export function makeSentence(random: RandomStream, count: number): string {
  const tokens: string[] = [];
  let left = count;
  while (left > MAX_CLAUSE_LENGTH) {
    const limit = Math.min(MAX_CLAUSE_LENGTH, left - 1 - MIN_JOINED_LENGTH);
    const size = random.int(MIN_JOINED_LENGTH, limit);
    tokens.push(...clause(random, size));
    tokens.push(tokens.pop() + ",", random.choice(wordList("connectives")));
    left -= size + 1;
  }
  tokens.push(...clause(random, left));
  const text = tokens.join(" ") + ".";
  return text[0]!.toUpperCase() + text.slice(1);
}

/** A noun and the words before it. An adjective of the list may be inserted before the noun. */
interface Phrase {
  before: string[];
  noun: string;
  adjectives: readonly string[];
}

function clause(random: RandomStream, count: number): string[] {
  if (count === 1) return [random.choice(["listen", "wait", "stop", "hurry", "sing", "look"])];
  if (count === 2) {
    return [random.choice(wordList("names")), random.choice(wordList("intransitive"))];
  }
  const phrases: Phrase[] = [];
  let left = count - 1;
  const article = left >= 2 && random.chance(0.7);
  if (article) {
    phrases.push({
      before: ["the"],
      noun: random.choice(wordList("nouns")),
      adjectives: wordList("moods"),
    });
  }
  const subject = article ? [] : [random.choice(wordList("names"))];
  left -= article ? 2 : 1;
  const transitive = left >= 2 && random.chance(0.6);
  if (transitive) {
    phrases.push({
      before: ["the"],
      noun: random.choice(wordList("things")),
      adjectives: wordList("looks"),
    });
  }
  left -= transitive ? 2 : 0;
  // Each place takes three words and has room for an adjective. An adverb and a time add room for
  // two.
  const fewest = Math.max(0, Math.ceil((left - 2 - phrases.length) / 4));
  const places = random.int(fewest, Math.floor(left / 3));
  const where = random.sample(wordList("prepositions"), places),
    what = random.sample(wordList("places"), places);
  for (let i = 0; i < places; i++) {
    phrases.push({ before: [where[i]!, "the"], noun: what[i]!, adjectives: wordList("scenes") });
  }
  const ADVERB = phrases.length, TIME = ADVERB + 1;
  const rooms = Array.from({ length: phrases.length + 2 }, (_, room) => room);
  const used = new Set(random.sample(rooms, left - 3 * places));
  const texts = phrases.map(({ before, noun, adjectives }, i) =>
    used.has(i) ? [...before, random.choice(adjectives), noun] : [...before, noun]
  );
  const [first, ...others] = article ? texts : [subject, ...texts];
  return [
    ...first!,
    ...(used.has(ADVERB) ? [random.choice(wordList("adverbs"))] : []),
    random.choice(transitive ? wordList("transitive") : wordList("intransitive")),
    ...others.flat(),
    ...(used.has(TIME) ? [random.choice(wordList("times"))] : []),
  ];
}
