/**
 * Path-star graphs (Bachmann & Nagarajan, "The pitfalls of next-token prediction", ICML 2024):
 * several arms of equal length start at a centre, and only the end of an arm shows whether it leads
 * to the goal.
 */
import { bool, counts, defineTask, int } from "../../define.ts";
import { words } from "../../python/text.ts";

const MAX_LENGTH = 200_000;

export default defineTask({
  description: "Find the way along one arm of a star-shaped graph.",
  scoring: "1 for the labels of the path in order, separated by any white space, else 0.",
  params: {
    degree: int(3, "arms that leave the centre", { min: 2, levels: [2, 3, 4, 5] }),
    node_range: int(100_000, "labels are below this", {
      min: 1,
      levels: [10_000, 50_000, 100_000, 200_000],
    }),
    path_length: counts([3, 5], "edges of an arm", { min: 2, levels: [3, 5, 6, 7] }),
    reversed: bool(false, "ask for the way from the end of the arm to the centre"),
  },
  rules: {
    "node_range: must be above degree · max_path_length + 1": (c) =>
      c.node_range > c.degree * c.max_path_length + 1,
  },
  generate(random, config) {
    const length = random.int(config.min_path_length, config.max_path_length);
    const labels = new Set<number>();
    while (labels.size < config.degree * length + 1) labels.add(random.below(config.node_range));
    const [center, ...others] = labels as unknown as Iterable<number> as [number, ...number[]];
    const edges: string[] = [];
    for (let arm = 0; arm < config.degree; arm++) {
      let from = center;
      for (const to of others.slice(arm * length, (arm + 1) * length)) {
        edges.push(`|${from} ${to}`);
        from = to;
      }
    }
    const goalArm = random.below(config.degree);
    const path = [center, ...others.slice(goalArm * length, (goalArm + 1) * length)];
    const goal = path.at(-1)!;
    const asked = config.reversed ? path.toReversed() : path;
    return {
      question:
        "The edges of a graph are given as |u v, where u and v are the labels of two connected " +
        "nodes (an edge can be used in both directions). After them, behind a slash, stand the " +
        "start and the goal of a path.\n" +
        `${random.shuffle(edges).join("")}/${asked[0]} ${asked.at(-1)}\n` +
        "Which nodes does the path visit? Answer with their labels from the start to the goal, " +
        "both included, separated by single spaces.",
      answer: asked.join(" "),
      metadata: { center, goal, path_length: length, goal_path: path },
    };
  },
  score(answer, entry) {
    if (answer.length > MAX_LENGTH) return 0;
    return words(answer).join(" ") === words(entry.answer ?? "").join(" ") ? 1 : 0;
  },
});
