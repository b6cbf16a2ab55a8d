/** Visible GPUs on simulated nodes. */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { type CardSources, chooseCard, type DriverInfo, visibleCards } from "./visible.ts";

const A100 = { vendor: "10de", device: "20b2" };
const MI300 = { vendor: "1002", device: "74a1" };
const NODE = ["01", "41", "81", "c1"].map((bus) => ({ address: `0000:${bus}:00.0`, ...A100 }));

function node(
  variables: Record<string, string>,
  driver: (index: number) => DriverInfo | null = (i) => ({ uuid: `GPU-${i}abc`, allowed: true }),
  cards: CardSources["cards"] = NODE,
): CardSources {
  return { cards, env: (name) => variables[name], driver: (card) => driver(cards.indexOf(card)) };
}

const visible = (...args: Parameters<typeof node>) => visibleCards(node(...args)).cards;

Deno.test("indices and UUIDs name the cards that a process may use", () => {
  assert.equal(visible({}), null);
  assert.equal(visible({ CUDA_VISIBLE_DEVICES: "0,1,2,3" }), null);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "2" }), [2]);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "3, 1" }), [3, 1]);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "GPU-2abc,GPU-0" }), [2, 0]);
  // Like CUDA: everything after an unknown index is ignored.
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "1,-1,2" }), [1]);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "9" }), []);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "" }), []);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "NoDevFiles" }), []);
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "MIG-1f2" }), []);
  assert.equal(visible({ CUDA_VISIBLE_DEVICES: "GPU-2abc" }, () => null), null);
});

Deno.test("when a cgroup denies some cards, indices count the others", () => {
  const denied = (i: number) => ({ uuid: null, allowed: i === 2 });
  assert.equal(visible({ CUDA_VISIBLE_DEVICES: "0" }, denied), null);
  const two = (i: number) => ({ uuid: null, allowed: i >= 2 });
  assert.deepEqual(visible({ CUDA_VISIBLE_DEVICES: "1" }, two), [3]);
});

Deno.test("each vendor's variable applies to its cards only, and without cards to none", () => {
  const none = () => null;
  const amd = [MI300, MI300].map((card, i) => ({ address: `0000:0${i}:00.0`, ...card }));
  assert.deepEqual(visible({ ROCR_VISIBLE_DEVICES: "1" }, none, amd), [1]);
  assert.deepEqual(visible({ HIP_VISIBLE_DEVICES: "0", ROCR_VISIBLE_DEVICES: "1" }, none, amd), [
    0,
  ]);
  assert.equal(visible({ CUDA_VISIBLE_DEVICES: "" }, none, amd), null);
  assert.equal(visible({ CUDA_VISIBLE_DEVICES: "" }, none, []), null);
});

Deno.test("a hidden card is not chosen, and a missing one is refused", () => {
  assert.equal(chooseCard(null, node({ CUDA_VISIBLE_DEVICES: "" })), false);
  assert.equal(chooseCard(null, node({})), true);
  assert.equal(chooseCard(null, node({ CUDA_VISIBLE_DEVICES: "0" })), true);
  assert.throws(() => chooseCard(1, node({ CUDA_VISIBLE_DEVICES: "2" })), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /no graphics card 1: CUDA_VISIBLE_DEVICES=2 shows 1/);
    return true;
  });
});
