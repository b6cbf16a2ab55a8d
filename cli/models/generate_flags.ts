/** The flags of `rgx generate`. */
import type { FormFlags } from "./answer_form.ts";
import type { ModelFlags } from "./model_input.ts";

export interface GenerateFlags extends ModelFlags, FormFlags {
  /** A server that generates in place of this process; `model` is the name of its model. */
  baseUrl?: string;
  apiKeyEnv?: string;
  prompt?: string;
  file?: string;
  chat?: boolean;
  system?: string;
  chatTemplateKwargs?: string;
  ignoreEos?: boolean;
  maxNewTokens: number;
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  repetitionPenalty: number;
  minNewTokens: number;
  stop: string[];
  seed: number;
  n: number;
  json?: boolean;
}
