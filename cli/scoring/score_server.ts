/**
 * `rgx score --serve`: rewards for another trainer over HTTP. `POST /score` takes
 * `{"samples": [{"completion": …, …columns}]}` and answers with one reward for each, in order.
 */
import { callerMistake } from "../../core/remote/callers.ts";
import { messageOf } from "../../core/errors.ts";
import { listenError } from "../../core/network.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import { mistakeOf, readSample, sampleScores } from "./samples.ts";

export interface ScoreServerOptions {
  hostname: string;
  /** 0: any free port. */
  port: number;
  maxCompletionLength: number;
  /** Called for an error that is no client's. */
  onDefect: (error: unknown) => void;
}

export interface ScoreServer {
  url: string;
  close(): Promise<void>;
}

/** Largest body of a request, in bytes. */
const MAX_BODY = 2 ** 28;

/** @throws RgxError when the port is taken */
export function startScoreServer(rubric: Rubric, options: ScoreServerOptions): ScoreServer {
  const { hostname, port, onDefect } = options;
  // One batch after the other: a reward's process scores one at a time.
  let last: Promise<unknown> = Promise.resolve();
  const handler = async (request: Request): Promise<Response> => {
    const mistake = callerMistake(request.headers, { hostname, cors: null }, "");
    if (mistake !== null) return failure(403, mistake);
    const { pathname } = new URL(request.url);
    if (pathname === "/health") {
      return Response.json({ rewards: rubric.names, weights: rubric.weights });
    }
    if (pathname !== "/score") return failure(404, `${pathname}: there are /score and /health`);
    if (request.method !== "POST") return failure(405, "/score takes POST");
    const turn = last.then(() => score(request, rubric, options.maxCompletionLength));
    last = turn.catch(() => {});
    return await turn;
  };
  try {
    const server = Deno.serve({
      hostname,
      port,
      handler,
      onListen() {},
      onError(error) {
        onDefect(error);
        return failure(500, "internal error");
      },
    });
    const name = hostname.includes(":") ? `[${hostname}]` : hostname;
    return { url: `http://${name}:${server.addr.port}`, close: () => server.shutdown() };
  } catch (error) {
    throw listenError(hostname, port, error);
  }
}

async function score(request: Request, rubric: Rubric, maxLength: number): Promise<Response> {
  const size = Number(request.headers.get("content-length") ?? 0);
  if (size > MAX_BODY) return failure(413, `the request has ${size} bytes, at most ${MAX_BODY}`);
  let body: unknown;
  try {
    body = await request.json();
  } catch (error) {
    return failure(400, `the body is not JSON: ${messageOf(error)}`);
  }
  const samples = (body as { samples?: unknown } | null)?.samples;
  if (!Array.isArray(samples)) return failure(400, "samples: expected a list of objects");
  let read;
  try {
    read = samples.map((sample, i) => readSample(sample, `samples[${i}]`, rubric, maxLength));
  } catch (error) {
    return failure(400, mistakeOf(error));
  }
  const all = await rubric.score(read), scores = sampleScores(rubric, all);
  return Response.json({
    rewards: scores.map(({ reward }) => reward),
    values: Object.fromEntries(
      rubric.names.map((name) => [name, scores.map(({ values }) => values[name])]),
    ),
    errors: all.errors.map(({ row: index, name: reward, message }) => ({ index, reward, message })),
  });
}

/** An error in OpenAI's form. */
function failure(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}
