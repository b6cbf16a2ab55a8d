import assert from "node:assert/strict";
import { REFUSED_KEYS, WITHOUT_EFFECT } from "./foreign/foreign_keys.ts";
import { KEYS } from "./reading/key_names.ts";
import { configurationReference } from "./reference_page.ts";

Deno.test("docs/configuration.md is what the schema makes (deno task docs:config)", async () => {
  const page = await Deno.readTextFile(new URL("../docs/configuration.md", import.meta.url));
  assert.ok(page === configurationReference(), "it is not current: run deno task docs:config");
});

Deno.test("the reference names every key of every list", () => {
  const page = configurationReference();
  for (const path of [...KEYS.keys(), ...REFUSED_KEYS.keys(), ...WITHOUT_EFFECT.keys()]) {
    const last = path.split(".").at(-1)!;
    assert.ok(page.includes(`${last}\``), path);
  }
});
