import assert from "node:assert/strict";
import { LOSS_TYPE_PARAMETERS } from "../../configs/schema/loss_types.ts";
import { ALGORITHM_KEYS } from "../../configs/schema/algorithm_keys.ts";

Deno.test("the parameters of a type are in the schema with their default values", () => {
  for (const [type, parameters] of Object.entries(LOSS_TYPE_PARAMETERS)) {
    for (const [name, value] of Object.entries(parameters)) {
      assert.ok(name.startsWith(`${type}_`));
      assert.equal(ALGORITHM_KEYS[name as keyof typeof ALGORITHM_KEYS].default, value);
    }
  }
  const keys = Object.keys(ALGORITHM_KEYS).filter((key) => /^(sapo|vespo)_/.test(key)).sort();
  const parameters = Object.values(LOSS_TYPE_PARAMETERS).flatMap(Object.keys);
  assert.deepEqual(parameters.sort(), keys);
});
