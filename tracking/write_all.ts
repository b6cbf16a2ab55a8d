/** Trackers write at once: a log is lost least where nothing waits in memory. */

/** All bytes; a single call may write fewer. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}
