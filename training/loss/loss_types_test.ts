import assert from "node:assert/strict";
import { LOSS_TYPE_PARAMETERS, type LossType } from "../../configs/schema/loss_types.ts";
import { ALGORITHM_KEYS } from "../../configs/schema/algorithm_keys.ts";
import golden from "../../tests/golden/grpo-golden.json" with { type: "json" };
import { LOSS_RULES } from "./loss_types.ts";

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

Deno.test("each type's clipping is the one whose metrics TRL logs", () => {
  for (const { name, metrics } of golden.cases) {
    const { clipping, rowWeight } = LOSS_RULES[name.split(" ")[0] as LossType];
    const logged = Object.keys(metrics);
    assert.equal(clipping === "two-sided", logged.includes("clip_ratio/region_mean"), name);
    assert.equal(clipping === "upper", logged.includes("cispo_clip_ratio"), name);
    assert.equal(rowWeight !== null, logged.includes("vespo/phi_seq_mean"), name);
  }
});
