/** Input of `generate` and `logprobs`: the model with its adapter, and ids and texts from files. */
import { UsageError } from "../../core/errors.ts";
import { systemPromptText } from "../../data/prompt.ts";
import { isUtf16, whyUnreadable } from "../../core/text_file.ts";
import { type LoadedIdModel, loadIdModel, loadModel } from "../../models/load_model.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import { checkpointNotes, findModel } from "../../hub/find_model.ts";
import { LoadProgress } from "../terminal/redrawn_lines.ts";
import { openDevice } from "../open_device.ts";
import { log } from "../terminal/terminal.ts";
import type { ACTIVATIONS, MODEL } from "../flag_tables.ts";
import { type Flags, parseJson, pick } from "../flags.ts";

export type ModelFlags = Flags<typeof MODEL & typeof ACTIVATIONS> & {
  model: string;
  /** Token ids in place of a text. The model then needs no tokenizer. */
  idsFile?: string;
  /** A text, before the ids if there are any. */
  prompt?: string;
  quiet?: boolean;
};

/**
 * Loads the model, with each adapter in turn (the base model is read once), calls `body`, and
 * releases everything in any case.
 * @param body gets the folder of the adapter if there are several. The model has a tokenizer unless
 *   ids are given.
 */
export async function withModel(
  flags: ModelFlags,
  body: (loaded: LoadedIdModel, adapter: string | null) => Promise<void>,
): Promise<void> {
  const weights = storageOf(flags);
  const device = await openDevice(flags), { model, adapter: adapters } = flags;
  for (const name of flags.quiet ? [] : [model, ...adapters]) {
    for (const note of checkpointNotes(name, await findModel(name))) log(`note: ${note}`);
  }
  const progress = new LoadProgress(flags.quiet);
  let last: LoadedIdModel | null = null;
  try {
    for (const adapter of adapters.length === 0 ? [null] : adapters) {
      const load = flags.idsFile === undefined || flags.prompt !== undefined
        ? loadModel
        : loadIdModel;
      const loaded: LoadedIdModel = await load(model, device, {
        ...(adapter === null ? {} : { adapter }),
        ...(last === null ? {} : { sharing: last }),
        weights,
        ...pick(flags, "activations"),
        onLoad: progress.on,
      });
      last?.model.dispose();
      last = loaded;
      await body(loaded, adapters.length > 1 ? adapter : null);
    }
  } finally {
    progress.close();
    last?.model.dispose();
    device.close();
  }
}

/** A question after a system message, which is given as a text or as the name of a built-in one. */
export function messagesOf(text: string, system?: string): { role: string; content: string }[] {
  const question = { role: "user", content: text };
  if (system === undefined) return [question];
  return [{ role: "system", content: systemPromptText(system) }, question];
}

/** How weights are stored, by the flags. */
export function storageOf(
  { dtype, loadIn8bit, loadIn4bit }: Pick<ModelFlags, "dtype" | "loadIn8bit" | "loadIn4bit">,
): StorageOptions {
  if (loadIn8bit && loadIn4bit) {
    throw new UsageError("--load-in-8bit and --load-in-4bit were given: at most one of them");
  }
  const quantize = loadIn4bit ? "nf4" : loadIn8bit ? "int8" : null;
  return { quantize, ...(dtype === undefined ? {} : { dtype }) };
}

/** The whole text of a file, or of stdin (-). @throws UsageError when it is not UTF-8 text */
export async function readInput(path: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = path === "-"
      ? await new Response(Deno.stdin.readable).bytes()
      : await Deno.readFile(path);
  } catch (cause) {
    throw new UsageError(`cannot read ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${path === "-" ? "stdin" : path}: not UTF-8 text`, {
      advice: isUtf16(bytes) ? "It is UTF-16: save it as UTF-8." : "Save it as UTF-8.",
    });
  }
}

/** The token ids of a JSON array. @param path the file that it comes from, for messages */
export function parseIds(text: string, path: string, vocabSize: number): number[] {
  const ids = parseJson(text, path);
  if (!Array.isArray(ids) || ids.length === 0) {
    throw new UsageError(`${path}: expected a JSON array of token ids, such as [1, 80, 147]`);
  }
  ids.forEach((id, i) => {
    if (!Number.isInteger(id) || id < 0 || id >= vocabSize) {
      throw new UsageError(
        `${path}: element ${i} is ${JSON.stringify(id)}, expected an id from 0 to ${vocabSize - 1}`,
      );
    }
  });
  return ids as number[];
}
