import assert from "node:assert/strict";
import { load, MINIMAL } from "../testing.ts";

Deno.test("TRL's keys of an adapter without use_peft: a note, since TRL trains all weights", async () => {
  const adapter = async (yaml: string, ...overrides: string[]) => {
    const { config, notes } = await load(MINIMAL + yaml, { overrides });
    return { r: config.lora?.r, notes: notes.filter((note) => note.includes("use_peft")) };
  };
  const { r, notes } = await adapter("lora_r: 4\nlora_alpha: 8\n");
  assert.equal(r, 4);
  assert.match(
    notes.join(),
    /^f\.yaml:4:9: lora_r: trains an adapter; TRL would train all weights/,
  );
  const silent: [yaml: string, overrides: string[], r: number | undefined][] = [
    ["lora_r: 4\nuse_peft: true\n", [], 4],
    ["lora_r: 4\nuse_peft: false\n", [], undefined],
    ["lora: {r: 4}\n", [], 4],
    ["lora: {alpha: 4}\n", ["lora_r=2"], 2],
  ];
  for (const [yaml, overrides, expected] of silent) {
    assert.deepEqual(await adapter(yaml, ...overrides), { r: expected, notes: [] }, yaml);
  }
});
