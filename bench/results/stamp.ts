/** The time stamp in the names of a benchmark's files; unique within the folder. */

/**
 * Makes the empty file `{prefix}{stamp}{suffix}` in a folder.
 * @returns its name and its stamp: the local time, or the next free second, since several programs
 *   may begin in the same second
 */
export async function claimStamp(
  folder: string,
  prefix: string,
  suffix: string,
): Promise<{ name: string; stamp: string }> {
  const taken: string[] = [];
  for await (const { name } of Deno.readDir(folder)) taken.push(name);
  for (let at = Date.now();; at += 1000) {
    const stamp = stampOf(new Date(at)), name = `${prefix}${stamp}${suffix}`;
    if (taken.some((name) => name.includes(stamp))) continue;
    try {
      (await Deno.open(`${folder}/${name}`, { write: true, createNew: true })).close();
      return { name, stamp };
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

function stampOf(d: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}${two(d.getMonth() + 1)}${two(d.getDate())}_` +
    `${two(d.getHours())}${two(d.getMinutes())}${two(d.getSeconds())}`;
}
