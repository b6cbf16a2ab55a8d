/** How this program is started again: by itself, as a worker process, or by a job script. */

/** The executable itself, or Deno as `deno task rgx` calls it. Paths are absolute. */
export function programCommand(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const at = (path: string) => new URL(path, import.meta.url);
  const flags = /--v8-flags=\S+/.exec(
    JSON.parse(Deno.readTextFileSync(at("../deno.json"))).tasks.rgx,
  );
  const main = decodeURIComponent(at("../main.ts").pathname);
  return [Deno.execPath(), "run", "-A", "--quiet", ...(flags ?? []), main];
}
