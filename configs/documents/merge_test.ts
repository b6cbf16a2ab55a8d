import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { mergeMaps } from "./node.ts";
import { fromJson, type Json, type MapNode, nowhere, toJson } from "./node.ts";
import { load, MINIMAL } from "../testing.ts";

const AT = nowhere({ name: "t", directory: null });

function map(value: { [key: string]: Json }, replace = false): MapNode {
  return { ...fromJson(value, AT) as MapNode, ...(replace ? { replace } : {}) };
}

Deno.test("maps merge key by key, lists and scalars replace", () => {
  const under = map({ a: { x: 1, y: [1, 2] }, b: 1, c: { z: 1 } });
  const over = map({ a: { y: [3] }, b: { n: 2 }, c: null });
  assert.deepEqual(toJson(mergeMaps(under, over)), { a: { x: 1, y: [3] }, b: { n: 2 }, c: null });
});

Deno.test("grouping does not matter: (a + b) + c = a + (b + c)", () => {
  const random = new RandomStream(5, 0, 0, 0);
  const draw = (depth: number): Json => {
    const kind = random.int(0, depth > 0 ? 5 : 2);
    if (kind === 0) return random.int(0, 3);
    if (kind === 1) return null;
    if (kind === 2) return [random.int(0, 3)];
    return drawMap(depth - 1);
  };
  const drawMap = (depth: number): { [key: string]: Json } =>
    Object.fromEntries(["a", "b", "c"].slice(random.int(0, 3)).map((name) => [name, draw(depth)]));
  const plain = (node: MapNode) => JSON.stringify(sorted(toJson(node)));
  for (let i = 0; i < 2000; i++) {
    const [a, b, c] = [0, 1, 2].map(() => map(drawMap(3), random.int(0, 5) === 0)) as [
      MapNode,
      MapNode,
      MapNode,
    ];
    const left = mergeMaps(mergeMaps(a, b), c);
    const right = mergeMaps(a, mergeMaps(b, c));
    assert.equal(plain(left), plain(right));
  }
});

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([k, v]) => [k, sorted(v)]),
  );
}

Deno.test("_delete_ drops what is inherited, null sets null", async () => {
  const files = {
    "base.yaml": MINIMAL +
      "lora: {r: 4}\ndata: {task_config: {min_terms: 3}}\ntraining: {lr: 0.5, beta: 0.1}\n",
  };
  const deleted = await load(
    "_base_: base.yaml\ntraining: {_delete_: true, beta: 0.2}\n" +
      "data: {task_config: {_delete_: true, max_terms: 5}}\n",
    {},
    files,
  );
  assert.equal(deleted.config.training.learning_rate, 1e-6);
  assert.equal(deleted.config.training.beta, 0.2);
  assert.deepEqual(deleted.config.data.task_config, { max_terms: 5 });
  assert.equal(deleted.config.lora?.r, 4);
  const none = await load("_base_: base.yaml\nlora: null\n", {}, files);
  assert.equal(none.config.lora, null);
  const kept = await load("_base_: base.yaml\ntraining: {_delete_: false}\n", {}, files);
  assert.equal(kept.config.training.learning_rate, 0.5);
});
