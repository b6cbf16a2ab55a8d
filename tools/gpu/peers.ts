/** The same work in torch, transformers and PEFT on the same card, where a Python has them. */
import type { Sizes } from "./sizes.ts";

/** TFLOP/s of torch for a product, by type. */
export interface PeerProduct {
  what: string;
  float32: number;
  tfloat32: number;
  float16: number;
  bfloat16: number;
}

/** Seconds and peak memory of a step in transformers and PEFT. */
export interface PeerStep {
  seconds: number;
  [part: string]: unknown;
}

/** @returns the products, or why there are none, in a sentence */
export function peerProducts(python: string, { products }: Sizes): Promise<PeerProduct[] | string> {
  return run(python, "torch_products.py", products);
}

/** @returns the step, or why there is none, in a sentence */
export function peerStep(python: string, { model, step }: Sizes): Promise<PeerStep | string> {
  return run(python, "hf_grpo_step.py", { model, ...step });
}

async function run<T>(python: string, script: string, argument: unknown): Promise<T | string> {
  const path = new URL(`../peers/${script}`, import.meta.url).pathname;
  try {
    const { success, stdout, stderr } = await new Deno.Command(python, {
      args: [path, JSON.stringify(argument)],
      stdout: "piped",
      stderr: "piped",
    }).output();
    const last = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim().split("\n").at(-1)!;
    return success ? JSON.parse(last(stdout)) : `${script} failed: ${last(stderr)}`;
  } catch (error) {
    return `${script} did not run: ${(error as Error).message}`;
  }
}
