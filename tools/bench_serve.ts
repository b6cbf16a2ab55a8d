/**
 * Load on a server: many clients that stream, each answer held against a run of its own, beside
 * clients that leave, send garbage or ask for too much. Loopback only.
 *
 *     deno task bench:serve [MODEL] [--clients 256] [--seconds 60] [--tokens 32]
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { events } from "../core/remote/reply.ts";
import { createDevice } from "../kernels/mod.ts";
import { loadModel } from "../models/load_model.ts";
import { spawnRgx } from "../tests/support.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "256" },
    seconds: { type: "string", default: "60" },
    tokens: { type: "string", default: "32" },
  },
});
const MODEL = positionals[0] ?? "tests/golden/models/stories260k";
const CLIENTS = Number(values.clients), SECONDS = Number(values.seconds);
const TOKENS = Number(values.tokens);
/** Number of different questions. */
const QUESTIONS = 64;
const WORDS = "Once upon a time the cat saw big red ball and ran".split(" ");
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

// What the clients ask, and how they measure.

/** A body of /v1/completions. */
interface Question {
  prompt: string;
  seed: number;
  max_tokens: number;
}

/** Different questions, of at most so many tokens. */
function questionsOf(tokens: number): Question[] {
  return Array.from({ length: QUESTIONS }, (_, q) => ({
    // Half of the prompts have the same beginning.
    prompt: (q % 2 ? "Once upon a time there was a little girl. " : "") +
      Array.from({ length: 1 + q % 12 }, (_, i) => WORDS[(q * 7 + i * i) % WORDS.length]).join(" "),
    seed: q,
    max_tokens: 1 + (q * 5) % tokens,
  }));
}

/** Starts a server of rgx and calls `work` with its address. */
async function serving(
  model: string,
  args: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<void> {
  const child = spawnRgx(["serve", model, "--port", "0", ...args], {
    env: { RGX_NUM_THREADS: Deno.env.get("RGX_NUM_THREADS") ?? "" },
  });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const errors = new Response(child.stderr).text();
  try {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(await errors);
    await work(value.trim());
  } finally {
    child.kill("SIGTERM");
    await reader.cancel();
    const { code } = await child.status, text = await errors;
    if (code !== 0 || /internal error/.test(text)) {
      console.log(`the server ended with ${code}: ${text}`);
    }
  }
}

/** The text about a list of seconds. */
function percentiles(seconds: number[]): string {
  if (seconds.length === 0) return "–";
  const sorted = seconds.sort((a, b) => a - b);
  const at = (p: number) =>
    1000 * sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))]!;
  return `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`;
}

/** The value of a gauge or counter. */
async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(url.replace(/v1$/, "metrics"))).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

/**
 * Asks once, streamed.
 * @returns the status, which is 0 where the stream broke off; token ids, where the server sends
 *   them; the time of each event with a token
 */
async function ask(url: string, question: object, signal?: AbortSignal) {
  const response = await fetch(`${url}/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...question, stream: true, return_token_ids: true }),
    ...(signal === undefined ? {} : { signal }),
  });
  const ids: number[] = [], times: number[] = [];
  if (response.status !== 200) {
    await response.body?.cancel();
    return { status: response.status, ids, times };
  }
  let isDone = false;
  for await (const data of events(response.body!.pipeThrough(new TextDecoderStream()))) {
    isDone ||= data === "[DONE]";
    if (isDone) continue;
    const { token_ids: token, text } = JSON.parse(data).choices[0];
    if (token === undefined && text === "") continue;
    ids.push(...token ?? []);
    times.push(performance.now());
  }
  return { status: isDone ? 200 : 0, ids, times };
}

console.log(`${MODEL} on ${cpus()[0]!.model}, ${cpus().length} cores`);
await load();
