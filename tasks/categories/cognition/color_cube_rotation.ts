/** A cube with six colours is rotated a few times. Which colour is then on a given side? */
import { counts, defineTask } from "../../define.ts";
import { strip } from "../../python/text.ts";

const COLORS = (
  "red green blue yellow white orange purple pink brown gray cyan magenta gold silver indigo violet"
).split(" ");
/** The order in which a cube is described. */
const SIDES = ["top", "right", "front", "left", "back", "bottom"] as const;
type Side = typeof SIDES[number];

/** For each side that comes to the top: the side from which each side gets its colour. */
const TURNS: Readonly<Record<string, Partial<Record<Side, Side>>>> = {
  front: { top: "front", front: "bottom", bottom: "back", back: "top" },
  right: { top: "right", right: "bottom", bottom: "left", left: "top" },
  back: { top: "back", back: "bottom", bottom: "front", front: "top" },
  left: { top: "left", left: "bottom", bottom: "right", right: "top" },
  bottom: { top: "bottom", bottom: "top", front: "back", back: "front" },
};
const TURN_NAMES = Object.keys(TURNS);

export default defineTask({
  description: "Follow the colours of a cube through its rotations.",
  scoring: "1 for the colour (surrounding space and case do not count), else 0.01.",
  params: { rotations: counts([1, 3], "rotations", { min: 1, spans: [1, 5, 10, 50, 100] }) },
  generate(random, config) {
    const count = random.int(config.min_rotations, config.max_rotations);
    const colors = random.sample(COLORS, SIDES.length);
    const initial = Object.fromEntries(SIDES.map((side, i) => [side, colors[i]!]));
    let cube = initial;
    const rotations: string[] = [];
    for (let i = 0; i < count; i++) {
      const turn = random.choice(TURN_NAMES);
      rotations.push(turn);
      const next = { ...cube };
      for (const [to, from] of Object.entries(TURNS[turn]!)) next[to] = cube[from]!;
      cube = next;
    }
    const target = random.choice(SIDES);
    const steps = rotations.map((side, i) => `${i + 1}. the ${side} side comes to the top`);
    return {
      question: "A cube lies in front of you. Its sides have these colors:\n" +
        SIDES.map((side) => `- ${side}: ${initial[side]}`).join("\n") +
        "\nNow it is rotated step by step. A step names the side (as it is before that step) " +
        "that comes to the top. For front, back, left or right it is a quarter turn, by which " +
        "the opposite side comes to the bottom; for bottom it is a half turn that exchanges top " +
        "with bottom and front with back, while left and right stay.\n" +
        `${steps.join("\n")}\nWhich color is on the ${target} side at the end? Answer with the ` +
        "color only.",
      answer: cube[target]!,
      metadata: { initial_state: initial, rotations, target_side: target, num_rotations: count },
    };
  },
  score(answer, { answer: oracle }) {
    return typeof oracle === "string" && strip(answer).toLowerCase() === strip(oracle).toLowerCase()
      ? 1
      : 0.01;
  },
});
