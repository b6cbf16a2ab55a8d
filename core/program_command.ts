/** The command that starts this program again, for worker processes and job scripts. */

/** The executable, or Deno with the arguments of `deno task rgx`. Paths are absolute. */
export function programCommand(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const at = (path: string) => new URL(path, import.meta.url);
  const flags = /--v8-flags=\S+/.exec(
    JSON.parse(Deno.readTextFileSync(at("../deno.json"))).tasks.rgx,
  );
  const main = decodeURIComponent(at("../main.ts").pathname);
  return [Deno.execPath(), "run", "-A", "--quiet", ...(flags ?? []), main];
}
