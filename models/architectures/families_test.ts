import assert from "node:assert/strict";
import { tinyConfig } from "../testing.ts";
import { ARCHITECTURE_NAMES } from "./architecture.ts";
import { familyTable, familyText } from "./families.ts";

Deno.test("docs/models.md has the table of families", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/models.md", import.meta.url));
  const plain = (text: string) => text.replace(/-{3,}/g, "---").replace(/\s+/g, " ");
  assert.ok(plain(page).includes(plain(familyTable())), "deno task docs:models");
});

Deno.test("every architecture belongs to a family", () => {
  for (const architecture of ARCHITECTURE_NAMES) {
    const text = familyText({ ...tinyConfig(true), architecture });
    assert.match(text, /^[A-Z].* \(\w+\): generates, trains in full and with LoRA; safetensors/);
  }
  const gemma = familyText({ ...tinyConfig(true), architecture: "gemma3_text", wrapped: true });
  assert.match(gemma, /^Gemma 3, .*\(Gemma3ForCausalLM, its text part\).*safetensors and GGUF/);
});
