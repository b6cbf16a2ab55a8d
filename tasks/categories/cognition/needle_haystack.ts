/**
 * One statement among many answers the question. No other statement has the same verb and thing.
 */
import { counts, defineTask } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { isOverlong } from "../../scoring_rules.ts";
import type { ScorableEntry } from "../../types.ts";

/** Names, verbs and things for the statements of `needle_haystack`. */

const BEGINNINGS = (
  "Al Bel Bran Cal Car Cor Dar Del Dor El Em Fal Fen Gar Gil Han Har Is Jas Jor Kal Ken Kor Lan " +
  "Lin Mal Mar Mel Nor Or Per Quin Ral Ren Ros Sal Sel Tal Tor Ul Val Ven Wil Wen Yor Zan"
).split(" ");
const ENDINGS = (
  "a an ard as by da den dis do ena ett ia ian ick ina io is ith la lan lo mer min mond na nor o " +
  "ra ric ron sa son ta ton us vin wyn"
).split(" ");

/** First names, each composed of a beginning and an ending. */
const NAMES: readonly string[] = [
  ...new Set(BEGINNINGS.flatMap((start) => ENDINGS.map((end) => start + end))),
];

const VERBS: readonly string[] = (
  "admires|adores|appreciates|avoids|bears|believes in|cannot stand|cares about|celebrates|" +
  "cherishes|complains about|criticizes|craves|defends|despises|detests|disapproves of|dislikes|" +
  "distrusts|dreams of|endures|enjoys|envies|fears|gave up|grumbles about|hates|ignores|" +
  "insists on|is bored by|is fond of|is keen on|is proud of|is scared of|is tired of|jokes about|" +
  "keeps away from|laughs at|likes|longs for|looks forward to|loves|makes fun of|misses|" +
  "mistrusts|praises|prefers|promotes|puts up with|raves about|recommends|regrets|rejects|" +
  "resents|respects|sings of|swears by|thinks of|tolerates|treasures|values|wants|warns of|" +
  "worries about|writes about|yearns for"
).split("|");

const THINGS: readonly string[] = (
  "ancient maps|apple pie|archery|astronomy|badgers|baking bread|ballet|basketball|beekeeping|" +
  "beetles|black coffee|board games|bonfires|bowling|brass bands|bus rides|butterflies|camels|" +
  "camping|card tricks|carpentry|carrots|castles|caves|cheese|chess|chocolate|choirs|cinnamon|" +
  "circuses|city lights|clay pots|clockwork|comets|comic books|cooking soup|coral reefs|" +
  "crossword puzzles|cycling|dancing tango|deserts|detective stories|dolphins|donkeys|" +
  "dragonflies|drawing cartoons|drumming|early mornings|electric cars|elephants|embroidery|" +
  "falcons|fencing|ferries|fishing|flamenco|foggy days|folk songs|football|fountains|foxes|" +
  "garden gnomes|geology|geometry|ghost stories|giraffes|glaciers|golf|grammar|grapefruit|" +
  "hammocks|hats|hedgehogs|high heels|hiking|history|hockey|honey|horse riding|hot springs|" +
  "ice cream|ice skating|icebergs|ironing shirts|islands|jazz|jigsaws|judo|juggling|karaoke|" +
  "kayaks|kites|knitting|ladders|lavender|lemonade|libraries|lighthouses|loud music|magic shows|" +
  "mangoes|marathons|marble statues|meteor showers|mirrors|model trains|moonlight|motorcycles|" +
  "mountains|mowing the lawn|mushrooms|night trains|noodles|novels|oak trees|octopuses|" +
  "old bridges|olives|omelettes|opera|orchids|origami|owls|paddle boats|pancakes|parades|parrots|" +
  "penguins|philosophy|photography|piano music|picnics|pigeons|planting trees|playing cards|" +
  "poetry|politics|pottery|puppets|puzzles|quiz shows|rabbits|rainy days|raking leaves|ravens|" +
  "red wine|robots|rock climbing|roller coasters|roses|rowing|sailing|salsa|sandcastles|saunas|" +
  "scary films|sculpture|seagulls|shadow plays|sheepdogs|silence|silk scarves|skiing|snails|" +
  "snowstorms|soap operas|spiders|spring cleaning|squirrels|stamps|stargazing|strawberries|" +
  "street art|submarines|sudoku|sunflowers|surfing|swimming|tap dancing|tattoos|tea|telescopes|" +
  "tennis|thunder|tigers|tomatoes|tractors|traffic jams|travel diaries|treehouses|tulips|turtles|" +
  "umbrellas|video games|violins|volcanoes|walnuts|washing dishes|waterfalls|weather reports|" +
  "weddings|whales|wild rivers|windmills|winter nights|wolves|woodcuts|yoga|zebras"
).split("|");

/** Number of statements without the verb and thing of the needle. */
const MAX_STATEMENTS = NAMES.length * (VERBS.length * THINGS.length - 1);

export default defineTask({
  description: "Find the statement that answers a question among many others.",
  scoring: "1 for the name (spaces and case do not count), else 0.",
  params: {
    num_statements: counts([10, 100], "statements", {
      min: 1,
      max: Math.floor(MAX_STATEMENTS / 2),
      spans: [10, 100, 500, 1000],
    }),
  },
  generate(random, config) {
    const count = random.int(config.min_num_statements, config.max_num_statements);
    const needle = random.below(VERBS.length * THINGS.length);
    const name = random.choice(NAMES);
    const others = new Set<number>();
    while (others.size < count - 1) {
      const statement = random.below(NAMES.length * VERBS.length * THINGS.length);
      if (statement % (VERBS.length * THINGS.length) !== needle) others.add(statement);
    }
    const statements = Array.from(others, (statement) => {
      const about = statement % (VERBS.length * THINGS.length);
      return `${NAMES[(statement - about) / (VERBS.length * THINGS.length)]} ${predicate(about)}.`;
    });
    statements.splice(random.below(count), 0, `${name} ${predicate(needle)}.`);
    const question = `Who ${predicate(needle)}? Answer with the name only.`;
    return {
      question: `${statements.join(" ")}\n${question}`,
      answer: name,
      metadata: { question, num_statements: count },
    };
  },
  score,
});

function predicate(number: number): string {
  return `${VERBS[number % VERBS.length]} ${THINGS[Math.floor(number / VERBS.length)]}`;
}

function score(answer: string, entry: ScorableEntry): number {
  const oracle = plain(entry.answer ?? "");
  return oracle !== "" && !isOverlong(answer, entry) && plain(answer) === oracle ? 1 : 0;
}

function plain(text: string): string {
  return strip(text).replaceAll(" ", "").toLowerCase();
}
