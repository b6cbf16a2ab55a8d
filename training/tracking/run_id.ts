/** A run's id for trackers. It is kept in the run's folder, so a resumed run has the same id. */

const TRACKING_FILE = "tracking.json";

/**
 * Reads the id from `{outputDir}/tracking.json`; creates the file when it is missing or damaged.
 * @returns 32 hexadecimal digits
 */
export function trackedRunId(outputDir: string): string {
  const path = `${outputDir}/${TRACKING_FILE}`;
  const known = readId(path);
  if (known !== null) return known;
  const id = crypto.randomUUID().replaceAll("-", "");
  Deno.writeTextFileSync(`${path}.tmp`, JSON.stringify({ run_id: id }) + "\n");
  Deno.renameSync(`${path}.tmp`, path);
  return id;
}

function readId(path: string): string | null {
  try {
    const { run_id: id } = JSON.parse(Deno.readTextFileSync(path));
    return typeof id === "string" && /^[0-9a-f]{32}$/.test(id) ? id : null;
  } catch {
    return null;
  }
}
