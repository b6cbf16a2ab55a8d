/** Rules about section `generation`: what sampling on servers needs and excludes. */
import { microStepsPerGeneration } from "../batch_sizes.ts";
import { GENERATION } from "../schema/generation_keys.ts";
import { defaultsOf } from "../types/key_spec.ts";
import { RuleContext } from "./rule_context.ts";

const BACKEND = "generation.backend", URLS = "generation.base_url";
const TIMEOUT = "generation.server_timeout";
const STALE = "generation.max_staleness";

export class GenerationRules extends RuleContext {
  check(): void {
    const { generation } = this.config;
    if (!this.valid(BACKEND, URLS, STALE, TIMEOUT, "generation.api_key_env")) return;
    if (generation.backend === "in_process") return this.#unused();
    if (generation.base_url === null || generation.base_url.length === 0) {
      this.fail("openai needs generation.base_url, the address of a server", BACKEND, URLS);
    }
    if (this.valid("lora") && this.config.lora === null) {
      this.fail(
        "openai sends the adapter of the run to the servers: add a section lora (of a model that " +
          "is trained in full, all weights would have to be sent at each step)",
        BACKEND,
      );
    }
    this.#vespo();
    if (generation.max_staleness > 0) this.#staleness();
  }

  /** Keys of servers where there are none. */
  #unused(): void {
    const { base_url, api_key_env, max_staleness, server_timeout } = this.config.generation;
    const needs = "has no effect with generation.backend in_process; set it to openai";
    if (base_url !== null) this.fail(needs, URLS);
    if (api_key_env !== null) this.fail(needs, "generation.api_key_env");
    if (server_timeout !== defaultsOf(GENERATION).server_timeout) this.fail(needs, TIMEOUT);
    if (max_staleness === 0) return;
    this.fail(`${needs}: one process samples and trains in turns`, STALE);
  }

  /** As TRL requires. */
  #vespo(): void {
    const mode = "training.vllm_importance_sampling_mode";
    const on = "training.vllm_importance_sampling_correction";
    if (!this.valid("training.loss_type", mode, on)) return;
    const { training } = this.config;
    if (training.loss_type !== "vespo" || !training.vllm_importance_sampling_correction) return;
    if (training.vllm_importance_sampling_mode.startsWith("token")) return;
    const text = `vespo needs token_truncate or token_mask, found ` +
      training.vllm_importance_sampling_mode;
    this.fail(text, mode, "training.loss_type", BACKEND);
  }

  #staleness(): void {
    const names = [
      "training.per_device_train_batch_size",
      "training.gradient_accumulation_steps",
      "training.generation_batch_size",
      "training.steps_per_generation",
      "training.num_iterations",
    ] as const;
    if (this.valid(...names)) {
      const { training } = this.config;
      if (microStepsPerGeneration(training) !== training.gradient_accumulation_steps) {
        this.fail(
          "counts optimizer steps, so each step must have its own generation: leave out " +
            "num_iterations, steps_per_generation and generation_batch_size",
          STALE,
        );
      }
    }
    const drawn = "training.dynamic_sampling";
    if (this.valid(drawn) && this.config.training.dynamic_sampling) {
      this.fail("excludes dynamic_sampling: which prompts come next depends on rewards", STALE);
    }
    if (this.valid("curriculum") && this.config.curriculum !== null) {
      this.fail("excludes curriculum: the levels of the next prompts depend on scores", STALE);
    }
  }
}
