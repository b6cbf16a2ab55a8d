/** Text of files that people write. */

/** All of a file, UTF-8, without the mark that some editors put at its beginning. @throws what Deno.readFile throws */
export async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await Deno.readFile(path));
}
