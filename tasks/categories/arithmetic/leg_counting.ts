/** The total number of legs of a group of animals. */
import { consecutive, counts, defineTask, exactScore } from "../../define.ts";
import { dictionary } from "../../once.ts";

/** Number of legs → [name, plural unless it is name + "s"]. */
const ANIMALS: Readonly<Record<number, readonly (readonly [string, string?])[]>> = {
  0: [["snake"], ["sea slug"], ["jellyfish", "jellyfish"], ["flatworm"], ["leech", "leeches"]],
  2: [["chicken"], ["bird"], ["human"], ["duck"]],
  4: [
    ["dog"],
    ["cat"],
    ["cow"],
    ["horse"],
    ["lion"],
    ["elephant"],
    ["giraffe"],
    ["tiger"],
    ["deer", "deer"],
    ["sheep", "sheep"],
  ],
  5: [["starfish", "starfish"]],
  6: [
    ["insect"],
    ["ant"],
    ["butterfly", "butterflies"],
    ["beetle"],
    ["bee"],
    ["wasp"],
    ["grasshopper"],
    ["cricket"],
    ["cockroach", "cockroaches"],
    ["praying mantis", "praying mantises"],
    ["firefly", "fireflies"],
  ],
  8: [["spider"], ["scorpion"]],
  10: [["crab"], ["lobster"], ["shrimp", "shrimp"]],
  14: [["woodlouse", "woodlice"]],
};

const LIST = Object.entries(ANIMALS).flatMap(([legs, animals]) =>
  animals.map(([name, plural]) => ({ name, plural: plural ?? `${name}s`, legs: Number(legs) }))
);

export default defineTask({
  description: "Count the legs of a group of animals.",
  ...exactScore("the number"),
  params: {
    animals: counts([3, 10], "kinds of animals", {
      min: 1,
      max: LIST.length,
      levels: consecutive(1, LIST.length - 1),
      as: "num_animals",
    }),
    instances: counts([1, 15], "animals of a kind", {
      min: 1,
      spans: [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
      as: "num_instances",
    }),
  },
  generate(random, config) {
    const kinds = random.sample(LIST, random.int(config.min_animals, config.max_animals));
    const animals = dictionary<number>(), last = kinds.length - 1;
    let legs = 0, group = "";
    for (const [i, kind] of kinds.entries()) {
      const count = random.int(config.min_instances, config.max_instances);
      animals[kind.name] = count;
      legs += count * kind.legs;
      group += `${i === 0 ? "" : i === last ? " and " : ", "}${count} ${
        count === 1 ? kind.name : kind.plural
      }`;
    }
    return {
      question: `A zoo keeps ${group}. How many legs do they have altogether? ` +
        "Answer with the number only.",
      answer: String(legs),
      metadata: { animals, num_animals: kinds.length, total_legs: legs },
    };
  },
});
