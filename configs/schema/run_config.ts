/**
 * The typed result of reading a configuration, which the trainer gets. Keys are those of TRL and
 * transformers (GRPOConfig 1.16, TrainingArguments 5.23, PEFT's LoraConfig 0.21). A key is listed
 * here if it has an effect. Defaults are in the schema (`schema.ts`), not here.
 */
import type { AlgorithmSection } from "./sections/algorithm.ts";
import type { CurriculumSection, DataSection } from "./sections/data.ts";
import type { HfUploadSection, HubSection } from "./sections/hub.ts";
import type { EvalSection, LoggingSection, LoopSection, SftSection } from "./sections/loop.ts";
import type { LoraSection, ModelSection } from "./sections/model.ts";
import type { RewardSection } from "./sections/reward.ts";
import type { GenerationSection, SamplingSection } from "./sections/sampling.ts";
import type { SlurmSection } from "./sections/slurm.ts";

/**
 * A whole configuration with canonical keys and all defaults filled in. docs/configuration.md
 * explains each key.
 */
export interface RunConfig {
  /** What is trained. */
  model: ModelSection;
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  /** The problems. */
  data: DataSection;
  /** Difficulty levels that follow the results, or null. */
  curriculum: CurriculumSection | null;
  /** At least one; each completion gets the weighted sum of their values. */
  rewards: RewardSection[];
  /** Supervised warm start before GRPO, or null. */
  sft: SftSection | null;
  /** Held-out evaluation before and after training. */
  eval: EvalSection;
  /** Who samples the completions. */
  generation: GenerationSection;
  /** The keys of TRL's GRPOConfig, in one section as there. */
  training: LoopSection & SamplingSection & AlgorithmSection & HubSection;
  /** What trackers get. */
  logging: LoggingSection;
  /** null = nothing is uploaded by this section. */
  hf_upload: HfUploadSection | null;
  /** null = the flags of `rgx slurm` have defaults of their own. */
  slurm: SlurmSection | null;
}
