/**
 * How good is the model behind an OpenAI-compatible endpoint (vLLM, llama.cpp's server, a provider) at three
 * reasoning tasks? The key, if one is needed, is in OPENAI_API_KEY. Answers are kept in the results' folder, so a
 * second run asks, and costs, nothing.
 *
 *     deno run -A examples/evaluate_endpoint.ts http://localhost:8000/v1 MODEL
 */
import { type Benchmark, benchmark } from "../mod.ts";

export async function run(
  baseUrl: string,
  model: string,
  options: { numExamples?: number; outputDir?: string } = {},
): Promise<Benchmark> {
  const measured = await benchmark({
    models: [`openai:${model}`],
    tasks: ["chain_sum", "leg_counting", "spell_backward"],
    numExamples: 50,
    remote: { baseUrl, concurrency: 8 },
    ...options,
  });
  for (const { task, models } of Object.values(measured.result.tasks)) {
    for (const { accuracy, ci95: [low, high] } of Object.values(models)) {
      const [a, l, h] = [accuracy, low, high].map((share) => (100 * share).toFixed(1));
      console.log(`${task}: ${a} % [${l}, ${h}]`);
    }
  }
  return measured;
}

if (import.meta.main) {
  const [baseUrl, model] = Deno.args;
  if (baseUrl === undefined || model === undefined) {
    console.error("usage: deno run -A examples/evaluate_endpoint.ts BASE_URL MODEL");
    Deno.exit(2);
  }
  await run(baseUrl, model);
}
