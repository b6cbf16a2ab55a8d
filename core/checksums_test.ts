import assert from "node:assert/strict";
import { test } from "./testing.ts";
import { formatSums, parseSums, sha256Hex, sha256OfFile, verifySums } from "./checksums.ts";
import { NEEDED, needs } from "../tests/skipped.ts";

const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

Deno.test("SHA-256 equals the examples of FIPS 180", async () => {
  assert.equal(sha256Hex("abc"), ABC);
  const path = await Deno.makeTempFile();
  const bytes = new Uint8Array(3_000_000).map((_, i) => i * 7);
  await Deno.writeFile(path, bytes);
  assert.equal(await sha256OfFile(path), sha256Hex(bytes));
  await Deno.remove(path);
});

/** Names that only Linux allows, and the checksum file for files of this name that hold "abc". */
const NAMES = ["b.txt", "a file", "back\\slash", "new\nline"];
const SUMS = formatSums(new Map(NAMES.map((name) => [name, ABC])));

Deno.test("checksum files are read as they were written, also with unusual names", () => {
  assert.deepEqual([...parseSums(SUMS)!.keys()].sort(), [...NAMES].sort());
  assert.equal(SUMS.split("\n")[0], `${ABC}  a file`);
  assert.equal(parseSums("not a sum"), null);
  assert.deepEqual([...parseSums(`${ABC} *binary\n`)!], [["binary", ABC]]);
});

test.inFolder("sha256sum accepts a checksum file, also with unusual names", async (folder) => {
  for (const name of NAMES) await Deno.writeTextFile(`${folder}/${name}`, "abc");
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, SUMS);
  const check = await new Deno.Command("sha256sum", {
    args: ["--strict", "-c", "SHA256SUMS"],
    cwd: folder,
  }).output();
  assert.equal(check.code, 0, new TextDecoder().decode(check.stderr));
  assert.equal(await verifySums(folder), null);
}, needs(Deno.build.os === "linux", NEEDED.system));

test.inFolder("a file that does not match its checksum is reported by name", async (folder) => {
  assert.equal(await verifySums(folder), "SHA256SUMS is missing");
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, "");
  assert.equal(await verifySums(folder), "SHA256SUMS is damaged");
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, formatSums(new Map([["x", ABC]])));
  assert.equal(await verifySums(folder), "x is missing");
  await Deno.writeTextFile(`${folder}/x`, "abd");
  assert.match((await verifySums(folder))!, /^x does not have the checksum/);
  await Deno.writeTextFile(`${folder}/x`, "abc");
  await Deno.writeTextFile(`${folder}/added later`, "abc");
  assert.equal(await verifySums(folder), null);
});
