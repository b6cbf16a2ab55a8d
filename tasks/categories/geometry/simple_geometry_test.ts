import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";

Deno.test("polygons are convex: angles within the bounds, with the right sum", () => {
  const configs = [
    {},
    { min_sides: 15, max_sides: 30 },
    { min_sides: 3, max_sides: 3, min_angle: 89, max_angle: 89 },
    { min_sides: 4, max_sides: 12, min_angle: 100, max_angle: 179 },
  ];
  for (const config of configs) {
    const dataset = createDataset("simple_geometry", { ...config, seed: 3, size: 300 });
    const { min_angle, max_angle, min_sides, max_sides } = dataset.config as Record<
      string,
      number
    >;
    for (const { question, answer, metadata } of dataset) {
      const sides = metadata["n_sides"] as number, known = metadata["known_angles"] as number[];
      assert.ok(sides >= min_sides! && sides <= max_sides!);
      assert.equal(known.length, sides - 1);
      assert.ok(known.every((angle) => angle >= min_angle! && angle <= max_angle!));
      const missing = (sides - 2) * 180 - known.reduce((a, b) => a + b, 0);
      assert.ok(missing > 0 && missing < 180, question);
      assert.equal(answer, String(missing));
      assert.equal(metadata["missing_angle_raw"], missing);
      assert.ok(known.every((angle) => question.includes(`${angle}°`)));
    }
  }
});
