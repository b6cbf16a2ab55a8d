import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { hasZig, isAsBuilt, outdatedLibraries } from "./build.ts";

const asBuilt = await isAsBuilt();

Deno.test("the committed kernels of the CPU are what the sources give", {
  ignore: needs(asBuilt || await hasZig(), NEEDED.zig),
}, async () => {
  // Sources and libraries as the last build left them; else they are compiled and compared.
  if (!asBuilt) assert.deepEqual(await outdatedLibraries(), [], "run deno task build:kernels");
});

Deno.test("each operation is named by the first lines of its kernels", async () => {
  const names = (folder: string) => [...Deno.readDirSync(new URL(folder, import.meta.url))];
  const named = new Set<string>();
  for (const { name } of names("c/")) {
    const text = await Deno.readTextFile(new URL(`c/${name}`, import.meta.url));
    const comment = text.slice(0, text.search(/^[^/]/m));
    for (const [, operation] of comment.matchAll(/kernels\/ops\/(\w+)/g)) named.add(operation!);
  }
  const operations = names("../ops/").flatMap(({ name, isDirectory }) =>
    isDirectory && name !== "common" ? [name] : []
  );
  assert.deepEqual([...named].toSorted(), operations.toSorted());
});
