/**
 * Causal induction: which hidden objects switch on the light of a detector? There are three
 * examples that reveal one such object and one other, three more that need conclusions, and a new
 * placement. The inference is complete: a placement certainly lights up if it contains all possible
 * causes of some lit example.
 */
import { defineTask, exactScore, int, type RandomStream } from "../../define.ts";

const COLOURS = ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"];
const MATERIALS = ["metal", "rubber"];
const SHAPES = ["cube", "sphere", "cylinder"];

interface Kinds {
  all: readonly string[];
  /** Two halves of all kinds. Each half contains every colour, material and shape. */
  halves: readonly (readonly string[])[];
}

const KINDS = kinds();

function kinds(): Kinds {
  const halves: [string[], string[]] = [[], []];
  COLOURS.forEach((colour, c) =>
    MATERIALS.forEach((material, m) =>
      SHAPES.forEach((shape, s) => halves[(c + m + s) % 2]!.push(`${colour} ${material} ${shape}`))
    )
  );
  return { all: halves.flat(), halves };
}

type Verdict = "on" | "off" | "undetermined";

interface Example {
  objects: string[];
  on: boolean;
}

const SHARE_IID = 0.6;
const SHARE_HALF = 0.2;
/** Probability of asking for an undetermined placement, if there is one. */
const SHARE_OPEN = 0.5;

export default defineTask({
  description: "Conclude from examples whether a detector's light goes on.",
  ...exactScore("the right word"),
  params: {
    train: int(1, "1: the kinds of examples for training, 0: the others", { min: 0, max: 1 }),
  },
  generate(random, { train }) {
    const split = random.random();
    const half = split >= SHARE_IID && split < SHARE_IID + SHARE_HALF;
    const pool = half ? KINDS.halves[1 - train]! : KINDS.all;
    const oneLit = split < SHARE_IID + SHARE_HALF ? random.chance(0.5) : train === 1;
    const examples = drawExamples(random, pool, oneLit);
    const { objects, verdict } = drawPlacement(random, examples);
    const lines = examples.map((example) =>
      `${example.objects.join(", ")} -> ${example.on ? "on" : "off"}`
    );
    return {
      question:
        "A detector has a light. Objects of some kinds, called blickets, switch it on: the light " +
        "is on exactly when at least one blicket is placed on the detector. Which kinds are " +
        "blickets is hidden. These placements were tried, with this result:\n" +
        `${lines.join("\n")}\nNow these objects are placed on it:\n` +
        `${objects.join(", ")}\nAnswer with on if it follows that the light is on, with off if ` +
        "it follows that it is off, and with undetermined if neither follows.",
      answer: verdict,
      metadata: {},
    };
  },
});

/** Six examples. The light is on in one (`oneLit`) or in two of the last three. */
function drawExamples(random: RandomStream, pool: readonly string[], oneLit: boolean): Example[] {
  const causes = random.int(2, oneLit ? 3 : 4), others = random.int(3, oneLit ? 5 : 4);
  const drawn = random.sample(pool, causes + others);
  const [blicket, ...open] = drawn.slice(0, causes) as [string, ...string[]];
  const [plain, ...dark] = drawn.slice(causes) as [string, ...string[]];
  const first = random.shuffle([
    { objects: [blicket], on: true },
    { objects: [plain], on: false },
    { objects: [blicket, plain], on: true },
  ]);
  const lit = oneLit ? [open] : spread(random, open);
  const unlit = oneLit ? spread(random, dark) : [dark];
  const last = random.shuffle([
    ...lit.map((objects) => ({
      objects: [...objects, ...random.sample(dark, random.int(0, 2))],
      on: true,
    })),
    ...unlit.map((objects) => ({ objects, on: false })),
  ]);
  return [...first, ...last].map(({ objects, on }) => ({
    objects: random.shuffle([...objects]),
    on,
  }));
}

/** Two non-empty lists that together contain all objects. Some objects are in both. */
function spread(random: RandomStream, objects: readonly string[]): [string[], string[]] {
  const lists: [string[], string[]] = [[], []];
  for (const object of random.shuffle([...objects])) {
    const place = random.below(3);
    if (place !== 1) lists[0].push(object);
    if (place !== 0) lists[1].push(object);
  }
  for (const list of lists) if (list.length === 0) list.push(random.choice(objects));
  return lists;
}

/**
 * One object, or the objects of a dark example together with one more object or with all possible
 * causes of a lit example.
 */
function drawPlacement(
  random: RandomStream,
  examples: readonly Example[],
): { objects: string[]; verdict: Verdict } {
  const known = new Set(examples.flatMap(({ objects, on }) => on ? [] : objects));
  const causes = examples.filter(({ on }) => on)
    .map(({ objects }) => objects.filter((object) => !known.has(object)));
  const all = [...new Set(examples.flatMap(({ objects }) => objects))];
  const placements: string[][] = all.map((object) => [object]);
  for (const { objects } of examples.slice(3).filter(({ on }) => !on)) {
    const more = [...all.map((object) => [object]), ...causes.filter(({ length }) => length > 1)];
    for (const set of more) {
      const added = set.filter((object) => !objects.includes(object));
      if (added.length > 0) placements.push([...objects, ...added]);
    }
  }
  const byVerdict: Record<Verdict, string[][]> = { on: [], off: [], undetermined: [] };
  for (const objects of placements) byVerdict[conclude(objects, causes, known)].push(objects);
  const open = byVerdict.undetermined.length > 0 && random.chance(SHARE_OPEN);
  const verdict: Verdict = open ? "undetermined" : random.chance(0.5) ? "on" : "off";
  return { objects: random.shuffle([...random.choice(byVerdict[verdict])]), verdict };
}

function conclude(
  objects: readonly string[],
  causes: readonly (readonly string[])[],
  known: ReadonlySet<string>,
): Verdict {
  if (causes.some((set) => set.every((object) => objects.includes(object)))) return "on";
  return objects.every((object) => known.has(object)) ? "off" : "undetermined";
}
