/**
 * `rgx doctor --model M`: the family of a model, the storage types of its weights, and the errors
 * of other types.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { describeDevice } from "../../kernels/mod.ts";
import { bytesText } from "../../core/bytes.ts";
import { familyText } from "../../models/architectures/families.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { type StorageReport, storageReport } from "../../models/inspect/storage_report.ts";
import { noTokenizer } from "../../models/tokenizers/tokenizer.ts";
import { LoadProgress } from "../terminal/redrawn_lines.ts";
import { openDevice } from "../open_device.ts";
import { log, print, table } from "../terminal/terminal.ts";

/** @throws UsageError when there is no such model, or when a configuration is given too */
export async function doctorModel(
  config: string | undefined,
  options: { model: string; json?: boolean; device?: string },
): Promise<number> {
  const name = options.model;
  if (config !== undefined) {
    throw new UsageError(`--model and the config ${config} were given: one question at a time`);
  }
  const folder = await readModelFolder(name);
  if (folder.tokenizer === null) {
    throw noTokenizer(name, "Its errors are measured on a text.");
  }
  const device = await openDevice(options), progress = new LoadProgress();
  try {
    const report = await storageReport(folder, device, (how) => {
      log(`loading: ${how}`);
      return progress.on;
    });
    const family = familyText(folder.config);
    if (options.json) print(JSON.stringify({ model: folder.path, family, ...report }));
    else print(text(folder.path, family, describeDevice(device), report));
  } finally {
    progress.close();
    device.close();
  }
  return EXIT.ok;
}

function text(
  path: string,
  family: string,
  device: string,
  { positions, context, stored, held, note }: StorageReport,
): string {
  const values = stored.reduce((sum, part) => sum + part.values, 0);
  const percent = (x: number | null) =>
    x === null ? "–" : `${(100 * x).toFixed(x < 1e-3 ? 3 : 2)} %`;
  const nats = (x: number | undefined) => x === undefined ? "–" : x.toFixed(4);
  return [
    `${path}: ${count(values)} values, ${context ?? `${positions} positions`}`,
    family,
    "",
    table([
      ["stored as", "tensors", "values", "bytes"],
      ...stored.map(({ type, tensors, values, bytes }) => [
        type,
        `${tensors}`,
        count(values),
        bytesText(bytes),
      ]),
    ]),
    "",
    table([
      [
        "held on the device",
        "bytes",
        "error of weights",
        "change of log p",
        "largest",
        "perplexity",
      ],
      ...held.map(({ how, bytes, weight_error, logprob_change, perplexity }) => [
        how,
        bytesText(bytes),
        percent(weight_error),
        nats(logprob_change?.mean),
        nats(logprob_change?.largest),
        perplexity.toFixed(2),
      ]),
    ]),
    "",
    `on ${device}; log p in nats a token, of a short English text; errors are relative (RMS)`,
    ...(note === null ? [] : [note]),
  ].join("\n");
}

function count(values: number): string {
  return values < 1e6 ? values.toLocaleString("en-US") : `${(values / 1e6).toFixed(1)} M`;
}
