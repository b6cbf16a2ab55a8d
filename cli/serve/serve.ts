/** `rgx serve`: a model behind an OpenAI-compatible API. */
import { isLoopback } from "../../core/remote/callers.ts";
import { counted } from "../../core/counted.ts";
import { messageOf, UsageError } from "../../core/errors.ts";
import { whyUnreadable } from "../../core/text_file.ts";
import { exists } from "../../core/paths.ts";
import {
  PLAIN_SAMPLING,
  readSamplingDefaults,
  type SamplingDefaults,
} from "../../serve/sampling_fields.ts";
import { ModelHost } from "../../serve/model_host.ts";
import { type Server, startServer } from "../../serve/server.ts";
import { LoadProgress } from "../terminal/redrawn_lines.ts";
import { storageOf } from "../models/model_input.ts";
import { openDevice, refuseOtherRanks } from "../open_device.ts";
import { stopSignal } from "../signals.ts";
import { log, print } from "../terminal/terminal.ts";
import { flagOf, type FlagsOf, given, pick } from "../flags.ts";

type ServeFlags = FlagsOf<"SERVE">;

/** Seconds in which the body of a request must have come, and completions of one request. */
const BODY_SECONDS = 30, MAX_CHOICES = 4096;

export async function serve(argument: string | undefined, flags: ServeFlags): Promise<void> {
  refuseOtherRanks();
  const path = argument ?? flags.model;
  if (path === undefined || (argument !== undefined && flags.model !== undefined)) {
    throw new UsageError("name one model: rgx serve MODEL");
  }
  const adapters = flags.adapter.map(namedAdapter);
  const folders = await Promise.all(flags.allowAdapterLoading.map(realFolder));
  const cors = flags.cors === undefined ? null : checkedOrigin(flags.cors);
  const servedNames = [...new Set(flags.servedModelName)];
  const apiKey = flags.apiKeyFile === undefined ? null : await readKey(flags.apiKeyFile);
  const weights = storageOf(flags);
  const device = await openDevice(flags), progress = new LoadProgress();
  try {
    const host = await ModelHost.open(path, device, {
      weights,
      onLoad: progress.on,
      ...pick(flags, "activations", "kvCacheDtype", "separateAdapters"),
      ...given({
        servedNames: servedNames.length === 0 ? undefined : servedNames,
        maxModelLength: flags.maxModelLen,
        maxSequences: flags.maxNumSeqs,
        bytes: flags.memoryMb === undefined ? undefined : flags.memoryMb * 2 ** 20,
      }),
    });
    progress.close();
    let server: Server;
    try {
      for (const { name, folder } of adapters) await host.load(name, folder);
      const defaults = await samplingDefaults(flags.generationConfig, host.base.root);
      server = startServer(host, {
        hostname: flags.host,
        port: flags.port,
        apiKey,
        cors,
        limits: {
          maxN: flags.maxN,
          maxChoices: MAX_CHOICES,
          maxLogprobs: flags.maxLogprobs,
          logprobsMode: flags.logprobsMode,
          defaults,
        },
        body: { maxBytes: flags.maxBodyMb * 2 ** 20, seconds: BODY_SECONDS },
        adapters: { folders, uploads: flags.allowAdapterUpload ?? false, max: flags.maxLoras },
        requestSeconds: flags.requestTimeout,
        maxWaiting: flags.maxQueue,
        onNote: (text) => log(`note: ${text}`),
        onDefect: (error) =>
          log(`internal error: ${error instanceof Error ? error.stack : messageOf(error)}`),
      });
    } catch (error) {
      host.close();
      throw error;
    }
    const has = adapters.length === 0 ? "" : `, ${counted(adapters.length, "adapter")}`;
    log(
      `${host.base.id}: ${host.maxModelLength} tokens of context, ` +
        `${counted(host.slots, "completion")} at once${has}, ${device.name}`,
    );
    if (apiKey === null && !isLoopback(flags.host)) {
      log("warning: anyone who reaches this address can use it; --api-key-file asks for a key");
    }
    const end = stopSignal(); // before the address is printed: whoever reads it may send a signal
    print(`${server.url}/v1`);
    await end;
    log(`ending: running requests have ${flags.grace} s (again: end at once)`);
    await server.stop(flags.grace);
  } finally {
    progress.close();
    device.close();
  }
}

/** @param from a value of --generation-config; "vllm" is vLLM's own word for none */
async function samplingDefaults(from: string, model: string): Promise<SamplingDefaults> {
  if (from === "none" || from === "vllm") return PLAIN_SAMPLING;
  const folder = from === "auto" ? model : from;
  if (from !== "auto" && !await exists(`${folder}/generation_config.json`)) {
    throw new UsageError(`--generation-config ${from}: there is no generation_config.json`, {
      advice: "Give auto, none, or a folder that holds this file.",
    });
  }
  const defaults = await readSamplingDefaults(folder);
  const changed = Object.entries(defaults).filter(([name, value]) =>
    value !== PLAIN_SAMPLING[name as keyof SamplingDefaults]
  );
  if (changed.length > 0) {
    const fieldOf = (name: string) => flagOf(name).slice(2).replaceAll("-", "_");
    const values = changed.map(([name, value]) => `${fieldOf(name)} ${value}`).join(", ");
    log(
      `${folder}/generation_config.json: requests that do not say otherwise have ${values} ` +
        "(--generation-config none: OpenAI's defaults)",
    );
  }
  return defaults;
}

function namedAdapter(text: string): { name: string; folder: string } {
  const at = text.indexOf("=");
  if (at > 0 && at < text.length - 1) {
    return { name: text.slice(0, at), folder: text.slice(at + 1) };
  }
  throw new UsageError(`--adapter ${text}: expected NAME=FOLDER`, {
    advice: "For example --adapter mine=runs/a/checkpoint-50.",
  });
}

/** An origin as browsers send it. Another form, such as one with a path, would never match. */
function checkedOrigin(text: string): string {
  if (text === "*" || text === "null") return text;
  const url = URL.parse(text), isWeb = /^https?:$/.test(url?.protocol ?? "");
  // `URL` knows only the origins of web pages; extensions and other programs have origins, too.
  const isOrigin = isWeb ? url?.origin === text : /^[a-z][a-z\d+.-]*:\/\/[^/?#\s]+$/.test(text);
  if (url !== null && isOrigin) return text;
  throw new UsageError(`--cors ${text}: expected an origin, or "*" for all`, {
    advice: `For example --cors ${isWeb ? url?.origin : "https://page.example"}.`,
  });
}

async function realFolder(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch (cause) {
    throw new UsageError(`--allow-adapter-loading ${path}: ${whyUnreadable(cause)}`, { cause });
  }
}

async function readKey(path: string): Promise<string> {
  let key: string;
  try {
    key = (await Deno.readTextFile(path)).trim();
  } catch (cause) {
    throw new UsageError(`--api-key-file ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError(`--api-key-file ${path}: expected one line, the key`, {
    advice: "A key has letters, digits and signs of ASCII, and no blanks.",
  });
}
