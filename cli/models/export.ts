/** `rgx export` and `rgx convert`: a model in another form. */
import { bytesText } from "../../core/bytes.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { convertModel } from "../../models/export/convert.ts";
import { exportModel } from "../../models/export/export.ts";
import type { FlagsOf } from "../flags.ts";
import { abortable } from "../signals.ts";
import { log, print } from "../terminal/terminal.ts";

/** Without a format, the model is written unchanged, as one folder: `rgx convert`. */
export async function exportCheckpoint(
  checkpoint: string,
  flags: FlagsOf<"EXPORT">,
): Promise<void> {
  const { to, dtype, imatrix, output, force = false } = flags;
  if (to === undefined && dtype !== undefined) {
    throw new UsageError(`--dtype ${dtype}: it needs --to, as types stay as they are without it`);
  }
  const work = (signal: AbortSignal) =>
    to === undefined
      ? convertModel(checkpoint, { output, force, signal })
      : exportModel(checkpoint, {
        to,
        output,
        force,
        signal,
        ...(dtype && { dtype }),
        ...(imatrix && { imatrix }),
      });
  // A signal ends the work after the current tensor, so that no half-written file remains.
  const exported = await abortable(
    work,
    (name, exitCode) => new RgxError(`${name}: stopped, nothing is written`, { exitCode }),
  );
  const { path, bytes, notes } = exported;
  if (flags.json) {
    print(JSON.stringify({ path, format: to ?? "hf", dtype: exported.dtype, bytes, notes }));
    return;
  }
  for (const note of notes) log(`note: ${note}`);
  log(`${exported.dtype ?? "weights as they were"}, ${bytesText(bytes)}`);
  print(path);
}
