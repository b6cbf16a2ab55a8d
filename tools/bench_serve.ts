/**
 * Load on a server: many clients that stream, each answer held against a run of its own, beside
 * clients that leave, send garbage or ask for too much. Then the throughput of 16 clients beside
 * `generate` with 16 sequences, in turns. Loopback only.
 *
 *     deno task bench:serve [MODEL] [--clients 256] [--seconds 60] [--tokens 32]
 *     deno task bench:serve MODEL --compare 16
 *     deno task bench:serve FILE.gguf --llama PYTHON [--compare 16] [--rounds 3] [--threads 2]
 *
 * `--llama` is a Python with llama-cpp-python[server]: its server answers the same clients from the
 * same file, in turns. Without that package this part is skipped.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { createDevice } from "../kernels/mod.ts";
import { loadModel } from "../models/load_model.ts";
import { ask, metric, percentiles, QUESTIONS, questionsOf, serving } from "./serve/clients.ts";
import { besideLlama } from "./serve/llama_server.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "256" },
    seconds: { type: "string", default: "60" },
    tokens: { type: "string", default: "32" },
    compare: { type: "string" },
    llama: { type: "string" },
    rounds: { type: "string", default: "3" },
    threads: { type: "string", default: String(cpus().length) },
  },
});
const MODEL = positionals[0] ?? "tests/golden/models/stories260k";
const CLIENTS = Number(values.clients), SECONDS = Number(values.seconds);
const TOKENS = Number(values.tokens);
/** Share of the clients that misbehave. */
const FAULTY = 1 / 16;
const questions = questionsOf(TOKENS);

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function load(): Promise<void> {
  const device = await createDevice("auto"),
    { model, tokenizer, eosIds } = await loadModel(MODEL, device);
  const expected: string[] = [];
  for (const { prompt, seed, max_tokens: maxNewTokens } of questions) {
    const request = { promptId: 0, promptIds: tokenizer.encode(prompt), n: 1 };
    const options = { maxNewTokens, temperature: 1, seed, eosIds };
    expected.push((await model.generate([request], options))[0]![0]!.ids.join());
  }
  model.dispose();
  device.close();
  await serving(MODEL, [], async (url) => {
    const statuses = new Map<number, number>(), first: number[] = [], between: number[] = [];
    let wrong = 0, tokens = 0, odd = 0;
    const memory: number[] = [], begin = performance.now(), end = begin + SECONDS * 1000;
    const faulty = async (client: number) => {
      const big = { prompt: "a ".repeat(10 ** 6), max_tokens: 10 ** 9 };
      const bodies = [
        "{",
        '{"prompt": [[1e99]]}',
        JSON.stringify(big),
        "\0\0",
        '{"prompt":"a","n":1e9}',
      ];
      for (let i = client; performance.now() < end; i++) {
        odd++;
        if (i % 2) {
          const control = new AbortController();
          setTimeout(() => control.abort(), 50);
          await ask(url, { ...questions[i % QUESTIONS]!, max_tokens: 10 ** 9 }, control.signal)
            .catch(() => {});
        } else {
          const body = bodies[i / 2 % bodies.length]!;
          const { status } = await fetch(`${url}/completions`, { method: "POST", body })
            .then(async (response) => (await response.body?.cancel(), response));
          if (status !== 400) throw new Error(`a wrong body got ${status}`);
        }
        await sleep(50);
      }
    };
    const good = async (client: number) => {
      for (let i = client; performance.now() < end; i += 17) {
        const q = i % QUESTIONS, asked = performance.now();
        const { status, ids, times } = await ask(url, questions[q]!);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 200) {
          await sleep(500 + 1000 * Math.random());
          continue;
        }
        if (ids.join() !== expected[q]) wrong++;
        tokens += ids.length;
        first.push((times[0]! - asked) / 1000);
        // Tokens of several steps may arrive together, so the mean of each answer counts.
        const after = times.length - 1;
        if (after > 0) between.push((times.at(-1)! - times[0]!) / 1000 / after);
      }
    };
    const watch = async () => {
      while (performance.now() < end) {
        memory.push(await metric(url, "rgx_resident_bytes"));
        await sleep(SECONDS * 1000 / 12);
      }
    };
    const bad = Math.round(CLIENTS * FAULTY);
    await Promise.all([
      ...Array.from(
        { length: CLIENTS },
        (_, client) => client < bad ? faulty(client) : good(client),
      ),
      watch(),
    ]);
    const seconds = (performance.now() - begin) / 1000;
    const counts = [...statuses].map(([status, n]) => `${n} × ${status}`).join(", ");
    console.log(
      `${CLIENTS} clients for ${seconds.toFixed(0)} s, ${odd} requests that are wrong or left`,
    );
    console.log(`answers        ${counts}; ${wrong} of them wrong`);
    console.log(`tokens         ${(tokens / seconds).toFixed(0)} per second`);
    console.log(`first token    ${percentiles(first)}`);
    console.log(`further tokens ${percentiles(between)}`);
    console.log(
      `memory         ${memory.map((bytes) => (bytes / 2 ** 20).toFixed(0)).join(" ")} MiB`,
    );
    console.log(`left running   ${await metric(url, "rgx_running_completions")}`);
    if (wrong > 0 || [...statuses.keys()].some((status) => status !== 200 && status !== 429)) {
      throw new Error("the server gave wrong answers");
    }
  });
}

/** Tokens per second of `count` clients, and of `generate` with as many sequences, in turns. */
async function compare(count: number): Promise<void> {
  const device = await createDevice("auto"), { model, tokenizer } = await loadModel(MODEL, device);
  const prompts = questions.slice(0, count).map(({ prompt }) => prompt);
  const common = { temperature: 1, seed: 3 };
  const requests = prompts.map((prompt, promptId) => ({
    promptId,
    promptIds: tokenizer.encode(prompt),
    n: 1,
  }));
  await serving(MODEL, ["--max-num-seqs", String(count)], async (url) => {
    const served: number[] = [], alone: number[] = [], first: number[] = [];
    for (let round = 0; round < 4; round++) {
      let begin = performance.now();
      await model.generate(requests, { ...common, maxNewTokens: TOKENS, eosIds: [] });
      if (round > 0) alone.push(count * TOKENS / (performance.now() - begin) * 1000);
      begin = performance.now();
      const answers = await Promise.all(
        prompts.map((prompt, prompt_id) =>
          ask(url, { ...common, prompt, prompt_id, max_tokens: TOKENS, ignore_eos: true })
        ),
      );
      const seconds = (performance.now() - begin) / 1000;
      if (round === 0) continue;
      served.push(answers.reduce((sum, { ids }) => sum + ids.length, 0) / seconds);
      first.push(...answers.map(({ times }) => (times[0]! - begin) / 1000));
    }
    const median = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1]!;
    const share = median(served) / median(alone);
    console.log(
      `${count} clients  ${median(served).toFixed(0)} tokens/s, first token ${percentiles(first)}`,
    );
    console.log(
      `generate    ${median(alone).toFixed(0)} tokens/s; the server has ${
        (100 * share).toFixed(0)
      } %`,
    );
  });
  model.dispose();
  device.close();
}

console.log(`${MODEL} on ${cpus()[0]!.model}, ${cpus().length} cores`);
if (values.llama !== undefined) {
  await besideLlama(values.llama, MODEL, {
    clients: Number(values.compare ?? 16),
    rounds: Number(values.rounds),
    threads: Number(values.threads),
    tokens: TOKENS,
  });
} else await (values.compare === undefined ? load() : compare(Number(values.compare)));
