/**
 * The YAML files of `configs/`, embedded in the program. Their names are paths below `configs/`;
 * `rgx:NAME` always means an embedded file. A test compares this table with the folder.
 */
import base from "../base.yaml" with { type: "text" };
import evaluationsAlgorithmic from "../evaluations/eval_algorithmic_composite.yaml" with {
  type: "text",
};
import experimentsAlgorithmic from "../experiments/algorithmic_qwen_3b.yaml" with { type: "text" };
import experimentsGsm8k from "../experiments/gsm8k.yaml" with { type: "text" };
import experimentsHfUpload from "../experiments/hf_upload_example.yaml" with { type: "text" };
import experimentsLegCountingQwen7b from "../experiments/leg_counting_qwen7b.yaml" with {
  type: "text",
};
import experimentsQuickstart from "../experiments/quickstart.yaml" with { type: "text" };
import experimentsSmollm2Arithmetic from "../experiments/smollm2_arithmetic.yaml" with {
  type: "text",
};
import experimentsSmollm2ChainSum from "../experiments/smollm2_chain_sum.yaml" with {
  type: "text",
};
import experimentsSmollm2Curriculum from "../experiments/smollm2_curriculum.yaml" with {
  type: "text",
};
import experimentsSmollm2Needle from "../experiments/smollm2_needle_haystack.yaml" with {
  type: "text",
};
import experimentsSmollm2Sequence from "../experiments/smollm2_number_sequence.yaml" with {
  type: "text",
};
import modelsDialogptLarge from "../models/dialogpt-large.yaml" with { type: "text" };
import modelsDialogptMedium from "../models/dialogpt-medium.yaml" with { type: "text" };
import modelsDialogptSmall from "../models/dialogpt-small.yaml" with { type: "text" };
import modelsDistilgpt2 from "../models/distilgpt2.yaml" with { type: "text" };
import modelsLlama318b from "../models/llama3.1-8b.yaml" with { type: "text" };
import modelsLlama321b from "../models/llama3.2-1b.yaml" with { type: "text" };
import modelsLlama323b from "../models/llama3.2-3b.yaml" with { type: "text" };
import modelsMistral7b from "../models/mistral-7b.yaml" with { type: "text" };
import modelsQwen2505b from "../models/qwen2.5-0.5b.yaml" with { type: "text" };
import modelsQwen2515b from "../models/qwen2.5-1.5b.yaml" with { type: "text" };
import modelsQwen253b from "../models/qwen2.5-3b.yaml" with { type: "text" };
import modelsQwen306b from "../models/qwen3-0.6b.yaml" with { type: "text" };
import modelsQwen317b from "../models/qwen3-1.7b.yaml" with { type: "text" };
import modelsQwen34b from "../models/qwen3-4b.yaml" with { type: "text" };
import modelsQwen38b from "../models/qwen3-8b.yaml" with { type: "text" };
import modelsSmollm217b from "../models/smollm2-1.7b.yaml" with { type: "text" };
import modelsSmollm2135m from "../models/smollm2-135m.yaml" with { type: "text" };
import modelsSmollm2360m from "../models/smollm2-360m.yaml" with { type: "text" };
import modelsQwen7b from "../models/qwen-7b.yaml" with { type: "text" };
import modelsQwen257b from "../models/qwen2.5-7b.yaml" with { type: "text" };
import tasksBasicArithmetic from "../tasks/basic_arithmetic.yaml" with { type: "text" };
import tasksChainSum from "../tasks/chain_sum.yaml" with { type: "text" };
import tasksGsmSymbolic from "../tasks/gsm_symbolic.yaml" with { type: "text" };
import tasksLegCounting from "../tasks/leg_counting.yaml" with { type: "text" };
import tasksLetterCounting from "../tasks/letter_counting.yaml" with { type: "text" };
import tasksMiniSudoku from "../tasks/mini_sudoku.yaml" with { type: "text" };
import tasksShortestPath from "../tasks/shortest_path.yaml" with { type: "text" };
import tasksSimpleGeometry from "../tasks/simple_geometry.yaml" with { type: "text" };
import tasksSpellBackward from "../tasks/spell_backward.yaml" with { type: "text" };
import tasksTowerOfHanoi from "../tasks/tower_of_hanoi.yaml" with { type: "text" };
import openRlhf from "../openrlhf/train_ppo_ray.yaml" with { type: "text" };
import trlGrpo from "../trl/grpo.yaml" with { type: "text" };
import verlPpoTrainer from "../verl/ppo_trainer.yaml" with { type: "text" };

export const EMBEDDED: ReadonlyMap<string, string> = new Map([
  ["base.yaml", base],
  ["evaluations/eval_algorithmic_composite.yaml", evaluationsAlgorithmic],
  ["experiments/algorithmic_qwen_3b.yaml", experimentsAlgorithmic],
  ["experiments/gsm8k.yaml", experimentsGsm8k],
  ["experiments/hf_upload_example.yaml", experimentsHfUpload],
  ["experiments/leg_counting_qwen7b.yaml", experimentsLegCountingQwen7b],
  ["experiments/quickstart.yaml", experimentsQuickstart],
  ["experiments/smollm2_arithmetic.yaml", experimentsSmollm2Arithmetic],
  ["experiments/smollm2_chain_sum.yaml", experimentsSmollm2ChainSum],
  ["experiments/smollm2_curriculum.yaml", experimentsSmollm2Curriculum],
  ["experiments/smollm2_needle_haystack.yaml", experimentsSmollm2Needle],
  ["experiments/smollm2_number_sequence.yaml", experimentsSmollm2Sequence],
  ["models/dialogpt-large.yaml", modelsDialogptLarge],
  ["models/dialogpt-medium.yaml", modelsDialogptMedium],
  ["models/dialogpt-small.yaml", modelsDialogptSmall],
  ["models/distilgpt2.yaml", modelsDistilgpt2],
  ["models/llama3.1-8b.yaml", modelsLlama318b],
  ["models/llama3.2-1b.yaml", modelsLlama321b],
  ["models/llama3.2-3b.yaml", modelsLlama323b],
  ["models/mistral-7b.yaml", modelsMistral7b],
  ["models/qwen2.5-0.5b.yaml", modelsQwen2505b],
  ["models/qwen2.5-1.5b.yaml", modelsQwen2515b],
  ["models/qwen2.5-3b.yaml", modelsQwen253b],
  ["models/qwen3-0.6b.yaml", modelsQwen306b],
  ["models/qwen3-1.7b.yaml", modelsQwen317b],
  ["models/qwen3-4b.yaml", modelsQwen34b],
  ["models/qwen3-8b.yaml", modelsQwen38b],
  ["models/smollm2-1.7b.yaml", modelsSmollm217b],
  ["models/smollm2-135m.yaml", modelsSmollm2135m],
  ["models/smollm2-360m.yaml", modelsSmollm2360m],
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
  ["openrlhf/train_ppo_ray.yaml", openRlhf],
  ["trl/grpo.yaml", trlGrpo],
  ["verl/ppo_trainer.yaml", verlPpoTrainer],
]);

/** Names of the embedded experiments. `rgx train NAME` accepts them. */
export function experimentNames(): string[] {
  return namesIn("experiments/");
}

/** Names of the embedded evaluations. `rgx eval --config NAME` accepts them. */
export function evaluationNames(): string[] {
  return namesIn("evaluations/");
}

function namesIn(folder: string): string[] {
  return [...EMBEDDED.keys()].filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length).replace(/\.yaml$/, "")).sort();
}

/** Path of the embedded file with this name (without folder and extension), or null. */
export function embeddedPath(name: string): string | null {
  for (const folder of ["experiments/", "", "models/", "tasks/"]) {
    if (EMBEDDED.has(`${folder}${name}.yaml`)) return `${folder}${name}.yaml`;
  }
  return null;
}
