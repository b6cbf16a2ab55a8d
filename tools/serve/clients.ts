/** Clients of servers, for benchmarks: what they ask, and how they measure. */
import { spawnRgx } from "../../tests/support.ts";

/** Number of different questions. */
export const QUESTIONS = 64;
const WORDS = [
  "Once",
  "upon",
  "a",
  "time",
  "the",
  "cat",
  "saw",
  "big",
  "red",
  "ball",
  "and",
  "ran",
];

/** A body of /v1/completions. */
export interface Question {
  prompt: string;
  seed: number;
  max_tokens: number;
}

/** Different questions, of at most so many tokens. */
export function questionsOf(tokens: number): Question[] {
  return Array.from({ length: QUESTIONS }, (_, q) => ({
    // Half of the prompts have the same beginning.
    prompt: (q % 2 ? "Once upon a time there was a little girl. " : "") +
      Array.from({ length: 1 + q % 12 }, (_, i) => WORDS[(q * 7 + i * i) % WORDS.length]).join(" "),
    seed: q,
    max_tokens: 1 + (q * 5) % tokens,
  }));
}

/** Starts a server of rgx and calls `work` with its address. */
export async function serving(
  model: string,
  args: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<void> {
  const child = spawnRgx(["serve", model, "--port", "0", ...args]);
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
export function percentiles(seconds: number[]): string {
  if (seconds.length === 0) return "–";
  const sorted = seconds.sort((a, b) => a - b);
  const at = (p: number) =>
    1000 * sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))]!;
  return `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`;
}

/** The value of a gauge or counter. */
export async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(url.replace(/v1$/, "metrics"))).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

/** The answer to a streamed request. */
export interface Streamed {
  /** 0 means that the stream broke off. */
  status: number;
  /** Token ids, where the server sends them. */
  ids: number[];
  /** The time of each event with a token. */
  times: number[];
}

/** Asks once, streamed. */
export async function ask(url: string, question: object, signal?: AbortSignal): Promise<Streamed> {
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
  let rest = "", isDone = false;
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split(/\r?\n\r?\n/);
    rest = events.pop()!;
    for (const event of events) {
      if (event === "data: [DONE]") isDone = true;
      else if (event.startsWith("data: ")) {
        const { token_ids: token, text } = JSON.parse(event.slice(6)).choices[0];
        if (token === undefined && text === "") continue;
        ids.push(...token ?? []);
        times.push(performance.now());
      }
    }
  }
  return { status: isDone ? 200 : 0, ids, times };
}
