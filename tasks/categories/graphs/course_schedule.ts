/** Whether courses with prerequisites can all be taken, i.e. whether the graph has no cycle. */
import { counts, defineTask, exactScore, float } from "../../define.ts";

export default defineTask({
  description: "Decide whether all courses can be taken in some order.",
  ...exactScore("the right word"),
  params: {
    num_courses: counts([5, 10], "courses", { min: 3, spans: [5, 10, 25, 50, 100] }),
    num_prerequisites: counts([1, 2], "prerequisites of a course", { min: 1, spans: [2, 3, 4, 5] }),
    cycle_length: counts([3, 5], "courses in the cycle of an impossible plan", {
      min: 3,
      spans: [3, 4, 5, 6],
    }),
    p_solvable: float(0.5, "probability that the plan is possible", { min: 0, max: 1 }),
  },
  generate(random, config) {
    const count = random.int(config.min_num_courses, config.max_num_courses);
    const courses = random.shuffle(Array.from({ length: count }, (_, course) => course));
    const solvable = random.chance(config.p_solvable);
    /** Course × count + prerequisite. */
    const pairs = new Set<number>();
    for (let i = count - 1; i > 0; i--) {
      const wanted = random.int(config.min_num_prerequisites, config.max_num_prerequisites);
      for (let k = 0; k < wanted; k++) pairs.add(courses[i]! * count + courses[random.below(i)]!);
    }
    if (!solvable) {
      const length = random.int(config.min_cycle_length, config.max_cycle_length);
      const cycle = random.sample(courses, Math.min(length, count));
      cycle.forEach((course, i) => pairs.add(course * count + cycle[(i + 1) % cycle.length]!));
    }
    const prerequisites = random.shuffle(
      [...pairs].map((pair) => [Math.floor(pair / count), pair % count]),
    );
    const list = prerequisites.map(([course, before]) => `(${course}, ${before})`).join(", ");
    return {
      question: `A student wants to take ${count} courses, numbered 0 to ${count - 1}, one after ` +
        "another. A pair (a, b) says that course b has to be finished before course a can be " +
        `taken. The pairs are:\n${list}\n` +
        "Is there an order in which all courses can be taken? Answer with True or False only.",
      answer: solvable ? "True" : "False",
      metadata: { courses, prerequisites, solution: solvable, solvable },
    };
  },
});
