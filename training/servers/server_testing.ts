/**
 * For tests only: a small server of completions with adapters, on the engine of this program, whose
 * answers a test can replace. Runs with the real server are in `tests/commands/rollouts_test.ts`.
 */
import { Buffer } from "node:buffer";
import { VERSION } from "../../core/version.ts";
import { createDevice } from "../../kernels/mod.ts";
import { type LoadedModel, loadModel } from "../../models/load_model.ts";

export interface TestServer {
  url: string;
  /** Bodies of the requests for completions, in order of their arrival. */
  readonly requests: Record<string, unknown>[];
  /** Names of the adapters that it holds. */
  readonly adapters: ReadonlySet<string>;
  /** Takes the place of an answer, unless it returns null. */
  before: (path: string, count: number) => Response | null | Promise<Response | null>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  /** Answer as a server that is not rgx. */
  foreign?: boolean;
}

/** Starts a server on one thread of the CPU. */
export async function startServer(
  modelPath: string,
  { foreign = false }: TestServerOptions = {},
): Promise<TestServer> {
  const device = await createDevice("wasm", { threads: 1 });
  const base = await loadModel(modelPath, device);
  const models = new Map<string, LoadedModel>(), requests: Record<string, unknown>[] = [];
  const folder = await Deno.makeTempDir({ prefix: "rgx-server-" });
  let count = 0;

  const load = async (request: Request): Promise<Response> => {
    const { lora_name: name, lora_path, lora_files = {} } = await request.json();
    const path = lora_path ?? `${folder}/${name}`;
    await Deno.mkdir(path, { recursive: true });
    for (const [file, text] of Object.entries(lora_files)) {
      await Deno.writeFile(`${path}/${file}`, Buffer.from(String(text), "base64"));
    }
    if (models.has(name)) return failure(400, `${name} has already been loaded`);
    models.set(name, await loadModel(modelPath, device, { adapter: path, sharing: base }));
    return new Response(`Success: LoRA adapter '${name}' added successfully.`);
  };

  // deno-lint-ignore no-explicit-any -- the bodies of a test's own client
  const complete = async (body: any): Promise<Response> => {
    requests.push(body);
    const loaded = models.get(body.model);
    if (loaded === undefined) return failure(404, `The model ${body.model} does not exist.`);
    const [completions] = await loaded.model.generate([{
      promptId: body.prompt_id ?? 0,
      firstBranch: body.first_branch ?? 0,
      firstPosition: body.first_position ?? 0,
      promptIds: body.prompt,
      answers: body.answers?.map(([begin, end]: number[]) => ({ begin, end })),
      n: body.n,
    }], {
      maxNewTokens: body.max_tokens,
      temperature: body.temperature,
      topP: body.top_p,
      topK: Math.max(0, body.top_k),
      minP: body.min_p,
      repetitionPenalty: body.repetition_penalty,
      seed: body.seed,
      eosIds: body.stop_token_ids,
    });
    const choices = completions!.map(({ ids, logprobs, finishReason }, index) => ({
      index,
      text: "",
      finish_reason: finishReason,
      logprobs: { tokens: ids.map((id) => `token_id:${id}`), token_logprobs: logprobs },
      ...(foreign ? {} : { token_ids: ids }),
    }));
    return Response.json({ object: "text_completion", choices: choices.reverse() });
  };

  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const instead = await self.before(pathname, ++count);
      if (instead !== null) return instead;
      switch (pathname) {
        case "/version":
          return foreign ? failure(404, "Not Found") : Response.json({
            version: VERSION,
            engine: "rgx",
            device: device.name,
          });
        case "/v1/models":
          return Response.json({ data: [{ id: "base" }] });
        case "/v1/load_lora_adapter":
          return await load(request);
        case "/v1/unload_lora_adapter": {
          const { lora_name } = await request.json();
          models.get(lora_name)?.model.dispose();
          return models.delete(lora_name) ? new Response("Success") : failure(404, "unknown");
        }
        case "/v1/completions":
          return await complete(await request.json());
        default:
          return failure(404, "Not Found");
      }
    },
  );
  const self: TestServer = {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    get adapters() {
      return new Set(models.keys());
    },
    before: () => null,
    async close() {
      await server.shutdown();
      for (const { model } of models.values()) model.dispose();
      base.model.dispose();
      device.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
  return self;
}

export function failure(status: number, message: string, headers: HeadersInit = {}): Response {
  return Response.json({ error: { message } }, { status, headers });
}
