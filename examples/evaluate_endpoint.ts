/**
 * Measures the model of an OpenAI-compatible server (vLLM, llama.cpp, a provider) on three
 * reasoning tasks. The API key, if it is needed, is in OPENAI_API_KEY. Answers are kept in the
 * folder of the results, so a second run asks nothing and costs nothing.
 *
 *     deno run -A examples/evaluate_endpoint.ts http://localhost:8000/v1 MODEL
 */
import { type Benchmark, benchmark } from "@rgx/rgx";

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
    for (const { accuracy, ci95: [low, high], total, errors, examples } of Object.values(models)) {
      const failed = examples.find(({ error }) => error !== undefined);
      if (failed) console.error(`${task}: ${errors} requests failed, such as: ${failed.error}`);
      if (total === 0) continue; // Nothing was answered, so there is no accuracy.
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
  const { unanswered } = await run(baseUrl, model);
  if (unanswered > 0) Deno.exit(1); // A second run asks only these again.
}
