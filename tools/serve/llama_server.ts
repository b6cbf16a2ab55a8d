/**
 * The server of llama-cpp-python beside `rgx serve`: the same file, clients, questions and number
 * of threads, in turns. Each client streams one greedy completion. That server has one sequence, so
 * requests wait for one another there.
 */
import { quantile } from "../../core/statistics.ts";
import { ask, percentiles, type Question, questionsOf, serving } from "./clients.ts";

export interface Comparison {
  clients: number;
  rounds: number;
  threads: number;
  /** Tokens of each completion. */
  tokens: number;
}

/** Seconds in which the server must have loaded its model. */
const START_SECONDS = 120, POLL_MS = 200;

/** The results of a server in one round. */
interface Round {
  tokensPerSecond: number;
  /** Seconds up to the first token of each client. */
  first: number[];
}

/** Compares the servers and prints the result, or says why there is none. */
export async function besideLlama(
  python: string,
  model: string,
  { clients, rounds, threads, tokens }: Comparison,
): Promise<void> {
  if (!await hasServer(python)) {
    console.log(`skipped: ${python} has no llama-cpp-python[server]`);
    return;
  }
  const questions = questionsOf(tokens).slice(0, clients)
    .map(({ prompt }): Question => ({ prompt, seed: 1, max_tokens: tokens }));
  const rgx: Round[] = [], llama: Round[] = [];
  await serving(
    model,
    ["--threads", `${threads}`, "--max-num-seqs", `${clients}`],
    (ours) =>
      withLlama(python, model, threads, async (theirs) => {
        for (let round = -1; round < rounds; round++) {
          const one = await askAll(ours, questions), other = await askAll(theirs, questions);
          if (round < 0) continue; // both have read their weights once
          rgx.push(one);
          llama.push(other);
        }
      }),
  );
  const speed = (list: Round[]) => quantile(list.map((round) => round.tokensPerSecond), 0.5);
  for (const [name, list] of [["rgx", rgx], ["llama.cpp", llama]] as const) {
    const first = percentiles(list.flatMap((round) => round.first));
    console.log(`${name.padEnd(10)} ${speed(list).toFixed(1)} tokens/s, first token ${first}`);
  }
  console.log(
    `${clients} clients of ${tokens} tokens, ${threads} threads, median of ${rounds} rounds: ` +
      `${(speed(rgx) / speed(llama)).toFixed(2)} × the tokens per second`,
  );
}

/** All questions at once. */
async function askAll(url: string, questions: readonly Question[]): Promise<Round> {
  const begin = performance.now();
  const answers = await Promise.all(
    questions.map((question) => ask(url, { ...question, temperature: 0 })),
  );
  const seconds = (performance.now() - begin) / 1000;
  const bad = answers.find(({ status, times }) => status !== 200 || times.length === 0);
  if (bad !== undefined) throw new Error(`${url}: an answer has the status ${bad.status}`);
  return {
    tokensPerSecond: answers.reduce((sum, { times }) => sum + times.length, 0) / seconds,
    first: answers.map(({ times }) => (times[0]! - begin) / 1000),
  };
}

async function hasServer(python: string): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(python, {
      args: ["-c", "import llama_cpp.server.app"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch {
    return false;
  }
}

async function withLlama(
  python: string,
  model: string,
  threads: number,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 }), { port } = listener.addr;
  listener.close();
  const options = {
    model,
    host: "127.0.0.1",
    port,
    n_threads: threads,
    n_threads_batch: threads,
    n_ctx: 2048,
    interrupt_requests: false,
    logits_all: false,
    verbose: false,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = new Deno.Command(python, {
    args: ["-m", "llama_cpp.server", ...args],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text(), url = `http://127.0.0.1:${port}/v1`;
  let hasEnded = false;
  const ended = child.status.then(() => hasEnded = true);
  try {
    for (const limit = performance.now() + START_SECONDS * 1000;;) {
      const isUp = await fetch(`${url}/models`)
        .then(async (response) => (await response.body?.cancel(), response.ok), () => false);
      if (isUp) break;
      if (hasEnded || performance.now() > limit) {
        if (!hasEnded) child.kill();
        throw new Error(`llama.cpp's server did not start: ${(await errors).slice(-2000)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    await work(url);
  } finally {
    if (!hasEnded) child.kill();
    await ended;
    await errors;
  }
}
