/** The name that the trainer calls a model by. */
import type { CausalLM } from "./causal_lm.ts";

/** A model that can be trained: passes forward and backward over groups, generation, parameters. */
export type LanguageModel = CausalLM;
