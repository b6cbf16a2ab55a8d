/** How two people are related in a family of up to three generations. */
import { consecutive, counts, defineTask, type RandomStream, texts } from "../../define.ts";
import { strip } from "../../python/text.ts";

const MALE_NAMES = (
  "James John Robert Michael William David Richard Joseph Thomas Charles Peter Daniel " +
  "Matthew Christopher Andrew George Edward Benjamin Henry Samuel Alexander Oliver Jack " +
  "Harry Jacob Noah Ethan Lucas Mason Logan Sebastian Theodore Owen Liam Aiden Kai Jayden " +
  "Zion Phoenix Atlas Axel Ryder Finn"
).split(" ");
const FEMALE_NAMES = (
  "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Emma Lisa " +
  "Anna Margaret Victoria Charlotte Sophia Isabella Olivia Ava Mia Emily Abigail Amelia " +
  "Eleanor Grace Alice Lucy Chloe Sophie Lily Hannah Zoe Luna Nova Aria Willow Aurora " +
  "Sage River Winter Sky Rain"
).split(" ");

interface Person {
  name: string;
  female: boolean;
  parents: Couple | null;
  spouse: Person | null;
}

interface Couple {
  husband: Person;
  wife: Person;
  children: Person[];
}

export default defineTask({
  description: "Say how two members of a family are related.",
  scoring: "1 for the right word in any case, else 0.",
  params: {
    family_size: counts([4, 8], "people", { min: 3, levels: consecutive(3, 11) }),
    male_names: texts(MALE_NAMES, "names of men"),
    female_names: texts(FEMALE_NAMES, "names of women"),
  },
  validate,
  generate(random, config) {
    const size = random.int(config.min_family_size, config.max_family_size);
    const { people, couples } = drawFamily(random, size, distinctNames(config));
    const pairs: [Person, Person, string][] = [];
    for (const one of people) {
      for (const other of people) {
        const relation = relationship(one, other);
        if (relation !== null) pairs.push([one, other, relation]);
      }
    }
    const [one, other, relation] = random.choice(pairs);
    const story = random.shuffle([...couples]).map(sentences).join(" ");
    const asked = random.choice([
      `What is ${one.name} to ${other.name}?`,
      `How is ${one.name} related to ${other.name}?`,
      `Which relative of ${other.name} is ${one.name}?`,
    ]);
    return {
      question: `${story}\n\n${asked} Answer with one word out of: ${WORDS.join(", ")}.`,
      answer: relation,
      metadata: {
        person1: one.name,
        person2: other.name,
        relationship: relation,
        family_size: size,
      },
    };
  },
  score(answer, entry) {
    const text = (value: string) => strip(value).toLowerCase();
    return entry.answer != null && text(answer) === text(entry.answer) ? 1 : 0;
  },
});

interface Names {
  male: string[];
  female: string[];
}

/** Removes repeated names and names of both genders. */
function distinctNames(config: { male_names: string[]; female_names: string[] }): Names {
  const male = new Set(config.male_names);
  const female = new Set(config.female_names.filter((name) => !male.has(name)));
  return { male: [...male], female: [...female] };
}

/**
 * The number of men before the youngest generation. There are as many women, except in families of
 * three.
 */
function elderMen(size: number): number {
  return size > 10 ? 5 : size > 8 ? 4 : size > 6 ? 3 : 2;
}

function validate(
  config: { max_family_size: number; male_names: string[]; female_names: string[] },
): string[] {
  const size = config.max_family_size, { male, female } = distinctNames(config);
  const men = elderMen(size), women = size > 3 ? men : 1;
  const errors: string[] = [];
  if (male.length < men) {
    errors.push(`male_names: ${size} people need ${men} different ones, found ${male.length}`);
  }
  if (female.length < women) {
    errors.push(
      `female_names: ${size} people need ${women} different ones that no man has, found ` +
        `${female.length}`,
    );
  }
  if (errors.length === 0 && male.length + female.length < size) {
    errors.push(
      `max_family_size: there are only ${male.length + female.length} different names, found ` +
        `${size}`,
    );
  }
  return errors;
}

/** At most four grandparents, a middle generation of up to three couples, and their children. */
function drawFamily(
  random: RandomStream,
  size: number,
  names: Names,
): { people: Person[]; couples: Couple[] } {
  const men = random.shuffle(names.male), women = random.shuffle(names.female);
  const people: Person[] = [], couples: Couple[] = [];
  const born = (female: boolean, parents: Couple | null): Person => {
    const name = (female ? women : men).pop()!;
    const person = { name, female, parents, spouse: null };
    parents?.children.push(person);
    people.push(person);
    return person;
  };
  const marry = (husband: Person, wife: Person): Couple => {
    husband.spouse = wife;
    wife.spouse = husband;
    const couple = { husband, wife, children: [] };
    couples.push(couple);
    return couple;
  };
  const paternal = marry(born(false, null), born(true, null));
  const father = born(false, paternal);
  if (size > 3) {
    const maternal = size > 6 ? marry(born(false, null), born(true, null)) : null;
    const middle = [marry(father, born(true, maternal))];
    if (size > 8) middle.push(marry(born(false, paternal), born(true, null)));
    if (size > 10) middle.push(marry(born(false, null), born(true, maternal)));
    while (people.length < size) {
      const female = men.length === 0 || (women.length > 0 && random.chance(0.5));
      born(female, random.choice(middle));
    }
  }
  return { people, couples };
}

const RELATIONS = {
  parent: ["father", "mother"],
  sibling: ["brother", "sister"],
  child: ["son", "daughter"],
  spouse: ["husband", "wife"],
  grandparent: ["grandfather", "grandmother"],
  aunt: ["uncle", "aunt"],
  niece: ["nephew", "niece"],
  inLaw: ["father-in-law", "mother-in-law"],
} as const;

const WORDS = Object.values(RELATIONS).flat();

/**
 * The word for what `one` is to `other`; null for relations without a word here (cousins, spouses
 * of uncles, …).
 */
function relationship(one: Person, other: Person): string | null {
  const kind = one.spouse === other
    ? "spouse"
    : isParent(one, other)
    ? "parent"
    : isParent(other, one)
    ? "child"
    : isSibling(one, other)
    ? "sibling"
    : parentsOf(other).some((parent) => isParent(one, parent))
    ? "grandparent"
    : parentsOf(other).some((parent) => isSibling(one, parent))
    ? "aunt"
    : parentsOf(one).some((parent) => isSibling(other, parent))
    ? "niece"
    : other.spouse !== null && isParent(one, other.spouse)
    ? "inLaw"
    : null;
  return kind && RELATIONS[kind][one.female ? 1 : 0];
}

function parentsOf({ parents }: Person): Person[] {
  return parents === null ? [] : [parents.husband, parents.wife];
}

function isParent(parent: Person, child: Person): boolean {
  return child.parents !== null &&
    (child.parents.husband === parent || child.parents.wife === parent);
}

function isSibling(one: Person, other: Person): boolean {
  return one !== other && one.parents !== null && one.parents === other.parents;
}

function sentences({ husband, wife, children }: Couple): string {
  const marriage = `${husband.name} is married to his wife ${wife.name}.`;
  if (children.length === 0) return marriage;
  const list = children.map(({ name, female }) =>
    `a ${female ? "daughter" : "son"} called ${name}`
  );
  const last = list.pop()!;
  return `${marriage} They have ${list.length === 0 ? last : `${list.join(", ")} and ${last}`}.`;
}
