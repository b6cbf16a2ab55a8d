/** `rgx generate --base-url`: text from a model behind an OpenAI-compatible API. */
import { UsageError } from "../../core/errors.ts";
import { RemoteServer } from "../../core/remote/server.ts";
import { flagOf, given, templateValues } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";
import type { AskedForm } from "./answer_form.ts";
import type { GenerateFlags } from "./answer_form.ts";
import { messagesOf, parseIds, readInput } from "./model_input.ts";

type Json = Record<string, unknown>;

/** Flags about a model in this process, which have no meaning for a server. */
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
        : "The server decides how its model is stored and on which device it computes.",
    });
  }
  const text = flags.prompt ?? await readInput(flags.idsFile ?? flags.file ?? "-");
  const path = flags.chat ? "/chat/completions" : "/completions";
  const server = await RemoteServer.connect({
    baseUrl,
    ...given({ apiKeyEnv: flags.apiKeyEnv }),
    attempts: 1,
    onWarning: (message) => log(`note: ${message}`),
  }, null);
  try {
    const body = { ...bodyOf(text, flags), ...formFields(form) };
    const { choices, promptTokens, completionTokens } = await server.ask(path, body, null);
    if (flags.json) {
      const completions = choices.map(({ text, finishReason: finish_reason }) => ({
        text,
        finish_reason,
      }));
      const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens };
      return print(JSON.stringify({ completions, usage, model: flags.model }));
    }
    choices.forEach(({ text }, i) => print(choices.length > 1 ? `[${i + 1}] ${text}` : text));
    if (!flags.quiet) log(`${promptTokens} prompt tokens, ${completionTokens} new ones`);
  } finally {
    server.close();
  }
}

/** Fields that only some servers know are sent only if they differ from the default. */
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
