/** How many ranks a configuration starts on machines and in jobs that have a place, and none. */
import assert from "node:assert/strict";
import { askedRanks, type RankMachine } from "./start_ranks.ts";

const keys = (nnodes: number | null, n_gpus_per_node: number | null) => ({
  nnodes,
  n_gpus_per_node,
});

/** A machine with 4 cores and, for a device that is no CPU, these cards. */
const machine = (cards: number, by = "", jobNodes: number | null = null): RankMachine => ({
  hasLauncher: () => Promise.resolve(true),
  note: (text) => assert.fail(text),
  inJob: jobNodes !== null,
  jobNodes,
  cores: 4,
  cards: (device) => Promise.resolve(device === "wasm" ? null : { cards, by }),
});

Deno.test("keys and --ranks start the same ranks; the keys also say where", async () => {
  assert.equal(await askedRanks(keys(null, null), undefined, "wasm", machine(0)), null);
  assert.equal(await askedRanks(keys(1, 1), undefined, "wasm", machine(0)), null);
  assert.deepEqual(await askedRanks(keys(null, null), 8, "wasm", machine(0)), {
    count: 8,
    places: null,
  });
  const places = { nodes: 1, perNode: 4 };
  assert.deepEqual(await askedRanks(keys(1, 4), 4, "wasm", machine(0)), { count: 4, places });
  assert.deepEqual(await askedRanks(keys(null, 4), undefined, "webgpu", machine(4)), {
    count: 4,
    places,
  });
  // The ranks of a job check the cards of their own nodes.
  assert.deepEqual(await askedRanks(keys(2, 4), undefined, "webgpu", machine(0, "", 2)), {
    count: 8,
    places: { nodes: 2, perNode: 4 },
  });
});

Deno.test("a recipe for cards runs as one process on a CPU that cannot start its ranks", async () => {
  const notes: string[] = [], note = (text: string) => void notes.push(text);
  const small = { ...machine(0), note };
  assert.equal(await askedRanks(keys(1, 8), undefined, "wasm", small), null);
  const without = { ...small, hasLauncher: () => Promise.resolve(false) };
  assert.equal(await askedRanks(keys(1, 2), undefined, "wasm", without), null);
  assert.match(notes[0]!, /node is 8: .* on the CPU .* has 4 cores for them; one process does the/);
  assert.match(notes[1]!, /node is 2: .* has no launcher of MPI; one process/);
  // Who asks for ranks by their own flag wants them.
  const count = { count: 8, places: { nodes: 1, perNode: 8 } };
  assert.deepEqual(await askedRanks(keys(1, 8), 8, "wasm", machine(0)), count);
});

Deno.test("ranks without a place are refused, with what there is and what to do", async () => {
  const refused = async (
    [nodes, each]: [number | null, number],
    device: string,
    where: RankMachine,
    message: RegExp,
    advice: RegExp,
    flag?: number,
  ) =>
    await assert.rejects(askedRanks(keys(nodes, each), flag, device, where), {
      name: "UsageError",
      message,
      advice,
    });
  const shown = machine(2, "CUDA_VISIBLE_DEVICES=0,1");
  await refused([null, 3], "auto", shown, /is 3: this machine has 2 graphics cards/, /node=2/);
  await refused([null, 3], "auto", shown, /\(CUDA_VISIBLE_DEVICES=0,1\), so rank 2 would/, /3/);
  await refused([null, 2], "webgpu", machine(0), /has 0 graphics cards.*rank 0/, /--device wasm/);
  await refused([2, 2], "wasm", machine(0), /one node$/, /rgx slurm .* --nodes 2 --gpus 2 /);
  await refused([3, 2], "wasm", machine(0, "", 2), /this job has 2 nodes/, /--nodes=3/);
  await refused([1, 2], "wasm", machine(0), /^--ranks 4: .* is 1 × 2$/, /in both, or leave/, 4);
});
