import assert from "node:assert/strict";
import { loadConfig } from "../../configs/load.ts";
import { KEY_FLAGS, keyFlagsHelp } from "../commands.ts";

/** A value for each placeholder of a flag. */
const VALUES: Readonly<Record<string, string>> = {
  "<model>": "some-model",
  "<path>": "deno.json",
  "<n>": "12",
  "<x>": "0.25",
  "<name>": "some-name",
};

Deno.test("every flag in the help of train sets the key beside it", async () => {
  const cwd = decodeURIComponent(new URL("../..", import.meta.url).pathname);
  for (const [text, key] of KEY_FLAGS) {
    const [flag, placeholder] = text.split(" ") as [string, string?];
    const overrides = [flag, ...placeholder ? [VALUES[placeholder]!] : []];
    const { config } = await loadConfig("gsm8k", { cwd, overrides });
    const [path, rest] = key.split(/[,=]/) as [string, string?];
    const [section, name] = path.split(".") as ["training", "max_steps"];
    const value: unknown = config[section][name];
    if (placeholder) assert.equal(String(value), VALUES[placeholder], flag);
    else assert.deepEqual(value, rest === "0" ? 0 : [], flag);
    assert.ok(keyFlagsHelp().includes(text));
  }
});
