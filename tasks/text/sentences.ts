/**
 * English sentences with a given number of words: those of the story, and sentences made by a small
 * grammar where more or longer ones are needed. A clause consists of a subject, a verb and perhaps
 * an object; places, times, adjectives and adverbs fill it up to its length. Long sentences join
 * several clauses. Words consist of letters only and are separated by one space; commas and the
 * final full stop directly follow a word.
 */
import type { RandomStream } from "../../core/philox.ts";
import { STORY } from "./story.ts";

const NAMES = list(
  "Anna Boris Clara David Elena Felix Greta Hugo Irene Jakob Karin Leon Mira Nina Oscar Paula " +
    "Ravi Sofia Thomas Ursula Viktor Wanda Yusuf Zoe",
);
const NOUNS = list(
  "gardener baker sailor doctor painter farmer teacher pilot clerk singer hunter tailor miner " +
    "guard neighbour traveller child uncle captain queen dog horse goat raven fox cat donkey " +
    "goose bear otter",
);
const THINGS = list(
  "letter basket lantern ladder kettle violin blanket hammer wagon mirror map clock bottle coat " +
    "window carpet drum candle boat bridge wheel barrel statue piano bell rope sack photograph",
);
const PLACES = list(
  "garden harbour market forest kitchen station river valley church tower meadow cellar library " +
    "square castle field village mill island stable school attic workshop museum lake mountain",
);
const MOODS = list(
  "old young tired cheerful quiet clever stubborn hungry proud nervous lonely brave gentle " +
    "curious sleepy famous patient grumpy careful wealthy",
);
const LOOKS = list(
  "red heavy broken silver wooden dusty small green golden strange rusty yellow precious crooked " +
    "striped shiny ancient enormous narrow blue",
);
const SCENES = list(
  "empty crowded dark sunny frozen distant noisy muddy peaceful windy misty abandoned famous " +
    "foreign",
);
const TRANSITIVE = list(
  "carried found lost painted repaired sold bought hid dropped borrowed cleaned noticed admired " +
    "wanted remembered stole moved measured forgot opened kept described",
);
const INTRANSITIVE = list(
  "waited slept laughed sang worked rested arrived disappeared hesitated listened whistled " +
    "smiled vanished stumbled argued hurried danced shivered",
);
const ADVERBS = list(
  "slowly quietly suddenly carefully secretly happily often never finally calmly proudly always " +
    "nearly politely bravely hardly simply soon",
);
const TIMES = list("yesterday today again everywhere afterwards alone outside upstairs together");
const PREPOSITIONS = list("in near behind beside above below inside outside beyond opposite");
const CONNECTIVES = list("and but because while although so until whenever after before");

/** Minimum number of words of a clause that is joined to another, and maximum of any clause. */
const MIN_JOINED_LENGTH = 4, MAX_CLAUSE_LENGTH = 12;

let story: Map<number, string[]> | undefined;

/** The sentences of the story, grouped by their number of words. */
export function storySentences(): ReadonlyMap<number, readonly string[]> {
  if (story === undefined) {
    story = new Map();
    for (const sentence of STORY.replace(/\s+/g, " ").match(/[^.]+\./g)!) {
      const text = sentence.trim(), count = text.split(" ").length;
      const known = story.get(count);
      if (known === undefined) story.set(count, [text]);
      else known.push(text);
    }
  }
  return story;
}

/** Makes a sentence of exactly `count` ≥ 1 words. */
export function makeSentence(random: RandomStream, count: number): string {
  const tokens: string[] = [];
  let left = count;
  while (left > MAX_CLAUSE_LENGTH) {
    const limit = Math.min(MAX_CLAUSE_LENGTH, left - 1 - MIN_JOINED_LENGTH);
    const size = random.int(MIN_JOINED_LENGTH, limit);
    tokens.push(...clause(random, size));
    tokens.push(tokens.pop() + ",", random.choice(CONNECTIVES));
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
  if (count === 2) return [random.choice(NAMES), random.choice(INTRANSITIVE)];
  const phrases: Phrase[] = [];
  let left = count - 1;
  const article = left >= 2 && random.chance(0.7);
  if (article) phrases.push({ before: ["the"], noun: random.choice(NOUNS), adjectives: MOODS });
  const subject = article ? [] : [random.choice(NAMES)];
  left -= article ? 2 : 1;
  const transitive = left >= 2 && random.chance(0.6);
  if (transitive) phrases.push({ before: ["the"], noun: random.choice(THINGS), adjectives: LOOKS });
  left -= transitive ? 2 : 0;
  // Each place takes three words and has room for an adjective. An adverb and a time add room for
  // two.
  const fewest = Math.max(0, Math.ceil((left - 2 - phrases.length) / 4));
  const places = random.int(fewest, Math.floor(left / 3));
  const where = random.sample(PREPOSITIONS, places), what = random.sample(PLACES, places);
  for (let i = 0; i < places; i++) {
    phrases.push({ before: [where[i]!, "the"], noun: what[i]!, adjectives: SCENES });
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
    ...(used.has(ADVERB) ? [random.choice(ADVERBS)] : []),
    random.choice(transitive ? TRANSITIVE : INTRANSITIVE),
    ...others.flat(),
    ...(used.has(TIME) ? [random.choice(TIMES)] : []),
  ];
}

function list(text: string): readonly string[] {
  return text.split(" ");
}
