/** Synchronous writes for trackers: nothing waits in memory that a killed process could lose. */

/** Writes all bytes; a single `writeSync` may write fewer. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}
