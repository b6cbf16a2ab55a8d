/** `rgx generate --base-url`: text from a model behind an OpenAI-compatible API. */
import { RgxError, UsageError } from "../../core/errors.ts";
import { ServerAddress } from "../../core/remote/address.ts";
import { HttpClient, networkReason } from "../../core/remote/http.ts";
import { HttpError, httpError } from "../../core/remote/refusal.ts";
import { flagOf, templateValues } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";
import type { AskedForm } from "./answer_form.ts";
import type { GenerateFlags } from "./answer_form.ts";
import { messagesOf, parseIds, readInput } from "./model_input.ts";

type Json = Record<string, unknown>;

/** Flags about the model of this process, which a server has not. */
const LOCAL = [
  "adapter",
  "dtype",
  "loadIn8bit",
  "loadIn4bit",
  "activations",
  "device",
  "threads",
  "computeDtype",
] as const;

export async function generateRemotely(
  baseUrl: string,
  flags: GenerateFlags,
  form: AskedForm | null,
): Promise<void> {
  for (const name of LOCAL) {
    const value = flags[name as keyof GenerateFlags];
    if (value === undefined || value === false || Array.isArray(value) && value.length === 0) {
      continue;
    }
    throw new UsageError(`${flagOf(name)} and --base-url exclude each other`, {
      advice: name === "adapter"
        ? "An adapter of the server is named by --model."
        : "The server decides how its model is held and where it computes.",
    });
  }
  const address = new ServerAddress(baseUrl, flags.apiKeyEnv);
  const text = flags.prompt ?? await readInput(flags.idsFile ?? flags.file ?? "-");
  const path = flags.chat ? "/chat/completions" : "/completions";
  const reply = await post(address, path, { ...bodyOf(text, flags), ...formFields(form) });
  const choices = choicesOf(reply, address.url);
  if (flags.json) {
    print(JSON.stringify({
      completions: choices,
      usage: reply["usage"] ?? null,
      model: reply["model"] ?? flags.model,
    }));
    return;
  }
  choices.forEach((choice, i) =>
    print(choices.length > 1 ? `[${i + 1}] ${choice.text}` : choice.text)
  );
  const usage = reply["usage"] as Json | null | undefined;
  if (usage && !flags.quiet) {
    log(`${usage["prompt_tokens"]} prompt tokens, ${usage["completion_tokens"]} new ones`);
  }
}

/** Fields that only some servers know are sent where they say something. */
function bodyOf(text: string, flags: GenerateFlags): Json {
  const { chat, idsFile, stop } = flags;
  const values = templateValues(flags.chatTemplateKwargs);
  const prompt = idsFile === undefined ? text : parseIds(text, idsFile, Number.MAX_SAFE_INTEGER);
  return {
    model: flags.model,
    ...(chat ? { messages: messagesOf(text, flags.system) } : { prompt }),
    ...(values === undefined ? {} : { chat_template_kwargs: values }),
    max_tokens: flags.maxNewTokens,
    temperature: flags.temperature,
    top_p: flags.topP,
    n: flags.n,
    seed: flags.seed,
    ...(flags.topK === 0 ? {} : { top_k: flags.topK }),
    ...(flags.minP === 0 ? {} : { min_p: flags.minP }),
    ...(flags.repetitionPenalty === 1 ? {} : { repetition_penalty: flags.repetitionPenalty }),
    ...(flags.minNewTokens === 0 ? {} : { min_tokens: flags.minNewTokens }),
    ...(flags.ignoreEos ? { ignore_eos: true } : {}),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

/** The form in the fields of OpenAI and of vLLM. */
function formFields(asked: AskedForm | null): Json {
  if (asked === null) return {};
  const { form } = asked;
  if (form.kind === "regex") return { structured_outputs: { regex: form.pattern } };
  const schema = form.kind === "schema" ? form.schema : {};
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
}

async function post(address: ServerAddress, path: string, body: Json): Promise<Json> {
  using client = new HttpClient();
  try {
    const response = await address.fetch(path, client, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw await httpError(response);
    return await response.json();
  } catch (error) {
    if (error instanceof HttpError) {
      const key = error.status === 401 ? ` (${address.keyHint})` : "";
      const message = address.hide(error.message);
      throw new RgxError(`${address.url}: ${error.status}: ${message}${key}`, { cause: error });
    }
    if (error instanceof SyntaxError) {
      throw new RgxError(`${address.url}: the answer is not JSON`, { cause: error });
    }
    if (!(error instanceof TypeError)) throw error;
    throw new RgxError(`${address.url}: the server cannot be reached: ${networkReason(error)}`, {
      advice: "Is the server running, and the address right?",
      cause: error,
    });
  }
}

/** @throws RgxError when the answer has no texts */
function choicesOf(reply: Json, url: string): { text: string; finish_reason: unknown }[] {
  const choices = reply["choices"];
  const texts = Array.isArray(choices)
    ? (choices as Json[]).map((choice) => ({
      text: (choice["message"] as Json | undefined)?.["content"] ?? choice["text"] ?? "",
      finish_reason: choice["finish_reason"] ?? null,
    }))
    : [];
  if (texts.length === 0 || !texts.every(({ text }) => typeof text === "string")) {
    throw new RgxError(`${url}: the answer has no completions`);
  }
  return texts as { text: string; finish_reason: unknown }[];
}
