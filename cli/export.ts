/** `rgx export` and `rgx convert`: a model in another form. */
import { convertModel } from "../models/convert.ts";
import { type Exported, exportModel } from "../models/export.ts";
import type { ExportTarget, WeightType } from "../models/export_types.ts";
import { log, print } from "./terminal.ts";

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
  report(await exportModel(checkpoint, options), to, flags);
}

export async function convert(source: string, flags: OutputFlags): Promise<void> {
  const { output, force = false } = flags;
  report(await convertModel(source, { output, force }), "hf", flags);
}

function report({ path, dtype, bytes, notes }: Exported, format: ExportTarget, flags: OutputFlags) {
  if (flags.json) {
    print(JSON.stringify({ path, format, dtype, bytes, notes }));
    return;
  }
  for (const note of notes) log(`note: ${note}`);
  log(`${dtype ?? "weights as they were"}, ${(bytes / 1e6).toFixed(1)} MB`);
  print(path);
}
