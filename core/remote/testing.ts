/** A small OpenAI-compatible server for tests. */

type Body = Record<string, unknown> & { messages?: { role: string; content: string }[] };
export interface Request {
  path: string;
  body: Body;
  key: string | null;
  query: string;
  apiKey: string | null;
}
export type Handler = (request: Request, count: number) => Response | Promise<Response>;

/** Starts a server that answers POST requests with `handler` and lists the model "tiny". */
export async function withServer<T = void>(
  handler: Handler,
  work: (url: string, requests: Request[]) => Promise<T>,
): Promise<T> {
  const requests: Request[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (req) => {
    const { pathname: path, search: query } = new URL(req.url);
    if (req.method === "GET") return Response.json({ data: [{ id: "tiny" }] });
    const body = await req.json(), key = req.headers.get("authorization");
    const request = { path, body, key, query, apiKey: req.headers.get("api-key") };
    requests.push(request);
    return await handler(request, requests.length);
  });
  try {
    return await work(`http://127.0.0.1:${server.addr.port}`, requests);
  } finally {
    await server.shutdown();
  }
}

export const usage = { prompt_tokens: 11, completion_tokens: 6 };

/** As many whole answers as were asked for. */
export function answer({ body }: Pick<Request, "body">): Response {
  const choices = Array.from({ length: Number(body["n"] ?? 1) }, (_, index) => ({
    index,
    message: { role: "assistant", content: "<answer>7</answer>" },
    finish_reason: "stop",
  }));
  return Response.json({ choices, usage });
}

/** A stream of events. @param options.cut ends it with an error */
export function stream(
  pieces: readonly unknown[],
  options: { done?: boolean; cut?: boolean } = {},
) {
  const { done = true, cut = false } = options, encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(encoder.encode(`: ping\n\ndata: ${JSON.stringify(piece)}\r\n\r\n`));
      }
      if (cut) return controller.error(new Error("cut"));
      if (done) controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

export const delta = (content: string | null, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});

export const failure = (status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { message } }, { status, headers });
