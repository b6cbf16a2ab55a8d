import assert from "node:assert/strict";
import { LISTED } from "./foreign/foreign_keys.ts";
import { foreignKeysPage } from "./foreign_page.ts";
import { KEYS } from "./reading/key_names.ts";
import { configurationReference } from "./reference_page.ts";

const PAGES = [
  ["configuration.md", configurationReference()],
  ["foreign_keys.md", foreignKeysPage()],
] as const;

for (const [name, made] of PAGES) {
  Deno.test(`docs/${name} is what the lists make (deno task docs:config)`, async () => {
    const page = await Deno.readTextFile(new URL(`../docs/${name}`, import.meta.url));
    assert.ok(page === made, "it is not current: run deno task docs:config");
  });
}

Deno.test("the pages name every key of every list", () => {
  const pages = PAGES.map(([, page]) => page).join("\n");
  for (const path of [...KEYS.keys(), ...LISTED.keys()]) {
    const last = path.split(".").at(-1)!;
    assert.ok(pages.includes(`${last}\``), path);
  }
});
