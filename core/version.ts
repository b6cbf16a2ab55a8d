/** Which program this is: its version. */

/** The version of rgx; a test compares it with that of deno.json. */
export const VERSION = "0.1.0";

export function versionLine(): string {
  return `rgx ${VERSION} (deno ${Deno.version.deno}, v8 ${Deno.version.v8})`;
}
