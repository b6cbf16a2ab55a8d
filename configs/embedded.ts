/**
 * The YAML files of this folder, inside the program. Names are paths below `configs/`; `rgx:NAME` names one
 * for sure. A test compares the table with the folder.
 */
import base from "./base.yaml" with { type: "text" };
import experimentsLegCountingQwen7b from "./experiments/leg_counting_qwen7b.yaml" with {
  type: "text",
};
import experimentsQuickstart from "./experiments/quickstart.yaml" with { type: "text" };
import modelsQwen7b from "./models/qwen-7b.yaml" with { type: "text" };
import modelsQwen257b from "./models/qwen2.5-7b.yaml" with { type: "text" };
import tasksBasicArithmetic from "./tasks/basic_arithmetic.yaml" with { type: "text" };
import tasksChainSum from "./tasks/chain_sum.yaml" with { type: "text" };
import tasksGsmSymbolic from "./tasks/gsm_symbolic.yaml" with { type: "text" };
import tasksLegCounting from "./tasks/leg_counting.yaml" with { type: "text" };
import tasksLetterCounting from "./tasks/letter_counting.yaml" with { type: "text" };
import tasksMiniSudoku from "./tasks/mini_sudoku.yaml" with { type: "text" };
import tasksShortestPath from "./tasks/shortest_path.yaml" with { type: "text" };
import tasksSimpleGeometry from "./tasks/simple_geometry.yaml" with { type: "text" };
import tasksSpellBackward from "./tasks/spell_backward.yaml" with { type: "text" };
import tasksTowerOfHanoi from "./tasks/tower_of_hanoi.yaml" with { type: "text" };

export const EMBEDDED: ReadonlyMap<string, string> = new Map([
  ["base.yaml", base],
  ["experiments/leg_counting_qwen7b.yaml", experimentsLegCountingQwen7b],
  ["experiments/quickstart.yaml", experimentsQuickstart],
  ["models/qwen-7b.yaml", modelsQwen7b],
  ["models/qwen2.5-7b.yaml", modelsQwen257b],
  ["tasks/basic_arithmetic.yaml", tasksBasicArithmetic],
  ["tasks/chain_sum.yaml", tasksChainSum],
  ["tasks/gsm_symbolic.yaml", tasksGsmSymbolic],
  ["tasks/leg_counting.yaml", tasksLegCounting],
  ["tasks/letter_counting.yaml", tasksLetterCounting],
  ["tasks/mini_sudoku.yaml", tasksMiniSudoku],
  ["tasks/shortest_path.yaml", tasksShortestPath],
  ["tasks/simple_geometry.yaml", tasksSimpleGeometry],
  ["tasks/spell_backward.yaml", tasksSpellBackward],
  ["tasks/tower_of_hanoi.yaml", tasksTowerOfHanoi],
]);

/** Names of the embedded experiments, which `rgx train NAME` takes. */
export function experimentNames(): string[] {
  return [...EMBEDDED.keys()].filter((path) => path.startsWith("experiments/"))
    .map((path) => path.slice("experiments/".length).replace(/\.yaml$/, "")).sort();
}

/** Path of the embedded file that a name without folder and extension means, or null. */
export function embeddedPath(name: string): string | null {
  for (const folder of ["experiments/", "", "models/", "tasks/"]) {
    if (EMBEDDED.has(`${folder}${name}.yaml`)) return `${folder}${name}.yaml`;
  }
  return null;
}
