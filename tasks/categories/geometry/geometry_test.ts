/** Solves the questions of the tasks on polygons and triangles again. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";

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

type Point = [x: number, y: number];

/** The corners that the question names. */
function corners(question: string): Point[] {
  return ["A", "B", "C"].map((name) => {
    const match = new RegExp(`${name} = \\((-?\\d+), (-?\\d+)\\)`).exec(question)!;
    return [Number(match[1]), Number(match[2])];
  });
}

function distance([a, b]: Point, [c, d]: Point): number {
  return Math.hypot(a - c, b - d);
}

/** A + B + C − 2·circumcenter. */
function orthocenter([[ax, ay], [bx, by], [cx, cy]]: [Point, Point, Point]): Point {
  const d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by));
  const a = ax * ax + ay * ay, b = bx * bx + by * by, c = cx * cx + cy * cy;
  const x = (a * (by - cy) + b * (cy - ay) + c * (ay - by)) / d;
  const y = (a * (cx - bx) + b * (ax - cx) + c * (bx - ax)) / d;
  return [ax + bx + cx - 2 * x, ay + by + cy - 2 * y];
}

const ENTRIES = entriesOf("advanced_geometry", [
  {},
  { min_coord: 0, max_coord: 2 },
  { min_coord: -10_000, max_coord: 10_000 },
]);

Deno.test("the question's triangles are solved again by other formulas", () => {
  const seen = new Set<string>();
  for (const { question, answer, metadata } of ENTRIES) {
    const [A, B, C] = corners(question) as [Point, Point, Point];
    const a = distance(B, C), b = distance(C, A), c = distance(A, B);
    const s = (a + b + c) / 2;
    seen.add(metadata["task_type"] as string);
    if (question.includes("orthocenter")) {
      const [x, y] = orthocenter([A, B, C]);
      const given = answer!.slice(1, -1).split(", ").map(Number);
      const slack = 0.00051 + 1e-9 * Math.hypot(x, y);
      assert.ok(Math.abs(given[0]! - x) < slack && Math.abs(given[1]! - y) < slack, question);
    } else if (question.includes("incircle")) {
      const cosine = (b * b + c * c - a * a) / (2 * b * c);
      const radius = (s - a) * Math.tan(Math.acos(cosine) / 2);
      assert.ok(Math.abs(Number(answer) - radius) < 0.00051 + 1e-4 * radius, question);
      assert.match(answer!, /^\d+\.\d{3}$/);
    } else {
      const angle = Math.acos((a * a + c * c - b * b) / (2 * a * c)) * 180 / Math.PI;
      assert.ok(Math.abs(Number(answer!.slice(0, -1)) - angle) < 0.006, question);
      assert.match(answer!, /^\d+\.\d\d°$/);
    }
  }
  assert.equal(seen.size, 3);
});

Deno.test("exact and approximate metadata agree", () => {
  for (const { metadata } of ENTRIES) {
    const exact = metadata["incircle_radius_exact"] as string | undefined;
    if (exact !== undefined) {
      const [top, ...squares] = exact.match(/\d+/g)!.map(Number);
      const below = squares.reduce((sum, square) => sum + Math.sqrt(square), 0);
      assert.equal(top! / below, metadata["incircle_radius_approx"]);
    }
    const ortho = metadata["ortho"] as string[] | undefined;
    ortho?.forEach((text, i) => {
      const [top, bottom = "1"] = text.split("/");
      assert.equal(Number(top) / Number(bottom), (metadata["orthocenter_approx"] as number[])[i]);
    });
  }
});
