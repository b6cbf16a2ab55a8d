/**
 * Count the relatives, friends or colleagues of people who are counted themselves ("Alice in
 * Wonderland" questions: Nezhurina et al., 2024). In each circle of people, everybody knows
 * everybody.
 */
import type { RandomStream } from "../../../core/philox.ts";
import { choices, type ConfigOf, defineTask, exactScore, int, weights } from "../../define.ts";

const KINDS = ["siblings", "friends", "colleagues"] as const;

const MEN = "James John Robert Michael William David Richard Joseph Thomas Charles Bob";
const WOMEN = "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Margaret Alice";

const params = {
  male_names: choices(MEN.split(" "), "names of men and boys"),
  female_names: choices(WOMEN.split(" "), "names of women and girls; Alice is among them"),
  task_types: choices([...KINDS], "kinds of questions", KINDS),
  task_type_weights: weights([1 / 3, 1 / 3, 1 / 3], "weight of each kind", "task_types", [
    [1.0, 0.0, 0.0],
    [0.9, 0.05, 0.05],
    [0.7, 0.15, 0.15],
    [0.6, 0.2, 0.2],
    [0.5, 0.25, 0.25],
    [0.4, 0.3, 0.3],
    [0.3, 0.35, 0.35],
    [0.2, 0.4, 0.4],
    [0.1, 0.45, 0.45],
  ]),
  max_entities: int(6, "highest number of brothers, of sisters, of friends …", {
    min: 1,
    levels: [4, 6, 8, 10, 12, 14, 16],
    as: "num_entities",
  }),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Count someone's sisters, female friends or female colleagues.",
  ...exactScore("the number"),
  defaultSize: 10,
  params,
  rules: { "female_names: must contain Alice": (c) => c.female_names.includes("Alice") },
  generate(random, config) {
    const kind = random.weighted(config.task_types, config.task_type_weights);
    const draw = kind === "siblings" ? siblings : kind === "friends" ? friends : colleagues;
    const { question, count } = draw(random, config);
    return { question, answer: String(count), metadata: { task_type: kind } };
  },
});

interface Drawn {
  question: string;
  count: number;
}

function siblings(random: RandomStream, config: Config): Drawn {
  const girl = random.choice(config.female_names), boy = random.choice(config.male_names);
  const brothers = random.int(1, config.max_entities), sisters = random.int(1, config.max_entities);
  return {
    question: `${girl}, a girl, has ` +
      `${inAnyOrder(random, counted(brothers, "brother"), counted(sisters, "sister"))}. All of ` +
      `them have the same parents, who have no other children. ${boy} is one of ${girl}'s ` +
      `brothers. How many sisters does ${boy} have? Answer with the number alone.`,
    count: sisters + 1,
  };
}

function friends(random: RandomStream, config: Config): Drawn {
  const woman = random.choice(config.female_names), man = random.choice(config.male_names);
  const males = random.int(1, config.max_entities), females = random.int(1, config.max_entities);
  return {
    question: `${woman}, a woman, has ` +
      `${inAnyOrder(random, counted(males, "male friend"), counted(females, "female friend"))}. ` +
      `${woman} and these friends are all friends with one another, and none of them has any ` +
      `other friends. ${man} is one of the male friends. How many female friends does ${man} ` +
      "have? Answer with the number alone.",
    count: females + 1,
  };
}

/** Two circles that share one woman. The first belongs to a woman, the second to a man. */
function colleagues(random: RandomStream, config: Config): Drawn {
  const woman = random.choice(config.female_names), man = random.choice(config.male_names);
  const [males, females, hisMales, hisFemales] = Array.from(
    { length: 4 },
    () => random.int(1, config.max_entities),
  ) as [number, number, number, number];
  const herColleagues = inAnyOrder(
    random,
    counted(males, "male colleague"),
    counted(females, "female colleague"),
  );
  const hisColleagues = inAnyOrder(
    random,
    counted(hisMales, "male colleague"),
    counted(hisFemales, "female colleague"),
  );
  return {
    question:
      `${woman}, a woman, has ${herColleagues}; ${woman} and these people are all colleagues of ` +
      `one another. ${man}, a man, has ${hisColleagues}; ${man} and these people are all ` +
      "colleagues of one another too. The two circles have exactly one person in common, a woman " +
      `who is a colleague of both ${woman} and ${man}. Nobody has any colleagues outside the ` +
      "circles that he or she belongs to. How many female colleagues does the woman in both " +
      "circles have? Answer with the number alone.",
    // In the first circle, the owner takes the place of the shared woman among the women; in the
    // second, nobody does.
    count: females + (hisFemales - 1),
  };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function inAnyOrder(random: RandomStream, first: string, second: string): string {
  return random.chance(0.5) ? `${first} and ${second}` : `${second} and ${first}`;
}
