/** `rgx export` and `rgx convert`: a model in another form. */
import { bytesText } from "../../core/bytes.ts";
import { RgxError } from "../../core/errors.ts";
import { convertModel } from "../../models/export/convert.ts";
import { type Exported, exportModel } from "../../models/export/export.ts";
import type { ExportTarget } from "../../models/export/export_targets.ts";
import type { WeightType } from "../../models/formats/weight_types.ts";
import { abortable } from "../terminal/abortable.ts";
import { log, print } from "../terminal/terminal.ts";

interface OutputFlags {
  output: string;
  force?: boolean;
  json?: boolean;
}

export async function exportCheckpoint(
  checkpoint: string,
  flags: OutputFlags & { to: ExportTarget; dtype?: WeightType },
): Promise<void> {
  const { to, dtype, output, force = false } = flags;
  const options = { to, output, force, ...(dtype === undefined ? {} : { dtype }) };
  report(await stoppable((signal) => exportModel(checkpoint, { ...options, signal })), to, flags);
}

export async function convert(source: string, flags: OutputFlags): Promise<void> {
  const { output, force = false } = flags;
  const work = (signal: AbortSignal) => convertModel(source, { output, force, signal });
  report(await stoppable(work), "hf", flags);
}

/** A signal ends the work after the current tensor, so that no half-written file remains. */
async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return await abortable(
    work,
    (name, exitCode) => new RgxError(`${name}: stopped, nothing is written`, { exitCode }),
  );
}

function report({ path, dtype, bytes, notes }: Exported, format: ExportTarget, flags: OutputFlags) {
  if (flags.json) {
    print(JSON.stringify({ path, format, dtype, bytes, notes }));
    return;
  }
  for (const note of notes) log(`note: ${note}`);
  log(`${dtype ?? "weights as they were"}, ${bytesText(bytes)}`);
  print(path);
}
