/** The identity of a run for trackers, kept in its folder so that a resumed run goes on as the same one. */

const TRACKING_FILE = "tracking.json";

/** 32 hexadecimal digits: those of `{outputDir}/tracking.json`, which is made when it is not there. */
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
