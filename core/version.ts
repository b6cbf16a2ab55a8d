/** The version of rgx; a test holds it equal to deno.json's. */
export const VERSION = "0.1.0";

/** What `rgx --version` prints. */
export function versionLine(): string {
  return `rgx ${VERSION} (deno ${Deno.version.deno}, v8 ${Deno.version.v8})`;
}
