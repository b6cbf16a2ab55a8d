/** The last interior angle of a convex polygon, from the sum (n − 2)·180°. */
import { counts, defineTask, exactScore, type RandomStream, sizes } from "../../define.ts";

/**
 * Maximum number of complete draws. After that, single angles are adjusted to reach a possible sum,
 * which polygons with many sides need.
 */
const WHOLE_DRAWS = 64;

export default defineTask({
  description: "Find the missing interior angle of a convex polygon.",
  ...exactScore("the angle"),
  defaultSize: 100,
  params: {
    sides: counts([3, 6], "sides", { min: 3, spans: [5, 10, 15, 30] }),
    angle: sizes([10, 170], "given angle, in degrees", { min: 1, max: 179 }),
  },
  rules: {
    "min_angle: so large angles leave nothing for the last one": (c) =>
      c.min_angle * (c.min_sides - 1) < (c.min_sides - 2) * 180,
    "max_angle: so small angles leave 180° or more for the last one": (c) =>
      c.max_angle * (c.max_sides - 1) > (c.max_sides - 3) * 180,
  },
  generate(random, config) {
    const sides = random.int(config.min_sides, config.max_sides);
    const total = (sides - 2) * 180;
    const known = drawAngles(random, sides, config.min_angle, config.max_angle);
    const sum = known.reduce((a, b) => a + b, 0);
    const given = known.map((angle) => `${angle}°`).join(", ");
    const question = random.choice([
      `In a convex polygon with ${sides} sides, all interior angles but one are known: ${given}. ` +
      "How many degrees has the last interior angle?",
      `The interior angles of a convex ${sides}-sided polygon, except for one, are ${given}. ` +
      "Find the size of the remaining interior angle in degrees.",
      `A convex polygon has ${sides} corners. At ${sides - 1} of them the interior angles are ` +
      `${given}. How large, in degrees, is the interior angle at the remaining corner?`,
    ]);
    return {
      question: `${question} Answer with the number only, without a unit.`,
      answer: String(total - sum),
      metadata: {
        n_sides: sides,
        known_angles: known,
        sum_of_known_angles: sum,
        missing_angle_raw: total - sum,
        missing_angle_rounded: total - sum,
        total_interior_sum: total,
      },
    };
  },
});

/** n − 1 angles that leave between 1° and 179° for the last one. */
function drawAngles(random: RandomStream, sides: number, low: number, high: number): number[] {
  const total = (sides - 2) * 180;
  const minimum = total - 179, maximum = total - 1;
  let angles: number[] = [], sum = 0;
  for (let attempt = 0; attempt < WHOLE_DRAWS; attempt++) {
    angles = Array.from({ length: sides - 1 }, () => random.int(low, high));
    sum = angles.reduce((a, b) => a + b, 0);
    if (sum >= minimum && sum <= maximum) return angles;
  }
  while (sum < minimum || sum > maximum) {
    const i = random.below(angles.length), angle = angles[i]!;
    angles[i] = sum < minimum ? random.int(angle, high) : random.int(low, angle);
    sum += angles[i]! - angle;
  }
  return angles;
}
