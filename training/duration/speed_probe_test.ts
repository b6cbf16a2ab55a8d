/**
 * The probe reports the times of a model. The models here compute nothing: they advance a clock by
 * known times. The probe takes only a few seconds, for fast and for slow models.
 */
import assert from "node:assert/strict";
import { Interrupted } from "../../core/errors.ts";
import type { Group } from "../../models/network/types.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import { measureModel, type ModelSpeed, type ProbeInput } from "./speed_probe.ts";

/** Milliseconds of a model's operations. */
interface Costs {
  /** Extra time of any operation when it is done for the first time. */
  first: number;
  /** Of any pass. */
  pass: number;
  forwardRow: number;
  backwardRow: number;
  /** Of a decoding step, and of each of its tokens. */
  step: number;
  token: number;
}

interface Measured {
  speed: ModelSpeed;
  /** Milliseconds that the probe took. */
  took: number;
  /** Rows of each training pass; lanes and prompt tokens of each generation. */
  trained: number[];
  generated: [lanes: number, prompt: number][];
}

const EOS = 7;

/** @param changes.endEvery every n-th token is an end token; the completion continues after it */
async function measured(
  costs: Costs,
  { endEvery = Infinity, ...input }: Partial<ProbeInput> & { endEvery?: number } = {},
): Promise<Measured> {
  let time = 0, rows = 0, tokens = 0;
  const done = new Set<string>(), trained: number[] = [], generated: [number, number][] = [];
  const spend = (what: string, ms: number) => {
    time += ms + (done.has(what) ? 0 : costs.first);
    done.add(what);
  };
  const rowsOf = ({ promptIds, branches }: Group) =>
    promptIds.length + branches.reduce((sum, { length }) => sum + length, 0);
  const model: Partial<CausalLM> = {
    forward(groups, { train }) {
      rows = groups.reduce((sum, group) => sum + rowsOf(group), 0);
      if (train) trained.push(rows);
      spend("forward", costs.pass + rows * costs.forwardRow);
      const pairs = groups.flatMap(({ branches }) => branches).flat().length;
      return Promise.resolve({ logp: new Float32Array(pairs), entropy: new Float32Array(pairs) });
    },
    backward: () => spend("backward", costs.pass + rows * costs.backwardRow),
    zeroGrad() {},
    generate([request], { maxNewTokens, minNewTokens = 0, shouldStop }) {
      assert.ok(minNewTokens <= maxNewTokens, "as a model asks it");
      const { promptIds, n, onToken } = request!;
      generated.push([n, promptIds.length]);
      spend("generate", costs.pass + promptIds.length * costs.forwardRow);
      for (let step = 0; step < maxNewTokens; step++) {
        if (step > 0) spend("step", costs.step + n * costs.token);
        for (let lane = 0; lane < n; lane++) {
          onToken!(lane, ++tokens % endEvery === 0 ? EOS : 1, -1);
        }
        if (shouldStop!()) return Promise.reject(new Interrupted());
      }
      return Promise.resolve([]);
    },
  };
  const { now } = performance;
  performance.now = () => time;
  try {
    const speed = await measureModel({
      model: model as unknown as CausalLM,
      promptIds: Array.from({ length: 400 }, (_, i) => i),
      lanes: 64,
      rows: 64,
      answerTokens: 100,
      generates: true,
      sampling: { maxNewTokens: 1000, temperature: 1, seed: 1, eosIds: [EOS] },
      ...input,
    });
    return { speed, took: time, trained, generated };
  } finally {
    performance.now = now;
  }
}

const FAST: Costs = {
  first: 3000,
  pass: 1,
  forwardRow: 0.02,
  backwardRow: 0.05,
  step: 2,
  token: 0.1,
};

function near(found: number, expected: number, what: string): void {
  const share = Math.abs(found / expected - 1);
  assert.ok(share < 0.05, `${what}: ${found} s, expected ${expected} s`);
}

Deno.test("the speed is that of the run's batches, without the first pass", async () => {
  const { speed, trained, generated } = await measured(FAST);
  const rows = trained.at(-1)!;
  assert.equal(rows, 128 + 64 * 100, "a whole batch, of a prompt that is cut");
  near(speed.forwardRow, (0.02 + 1 / rows) / 1000, "a row forward");
  near(speed.trainedRow, (0.02 + 0.05 + 3 / rows) / 1000, "a row that is trained on");
  near(speed.newToken, (2 / 64 + 0.1) / 1000, "a token");
  assert.deepEqual(generated, [[64, 128], [64, 128]]);
});

Deno.test("the batch is limited by the run's and by the time of a pass", async () => {
  const few = await measured(FAST, { lanes: 3, rows: 2, answerTokens: 5 });
  assert.deepEqual([few.trained.at(-1), few.generated.at(-1)], [128 + 2 * 5, [3, 128]]);
  near(few.speed.newToken, (2 / 3 + 0.1) / 1000, "a token of three lanes");
  const many = await measured(FAST, { lanes: 10_000, rows: 10_000 });
  assert.equal(many.generated.at(-1)![0], 256);
  assert.ok(Math.max(...many.trained) * 0.07 < 1000, `${many.trained}`);
});

Deno.test("the probe takes a few seconds, or a few rows of a slow model", async () => {
  for (const slower of [1, 10, 100]) {
    const slow = Object.fromEntries(
      Object.entries(FAST).map(([name, ms]) => [name, name === "first" ? 0 : slower * ms]),
    ) as unknown as Costs;
    const { took, speed } = await measured(slow);
    assert.ok(took < 6000, `${slower} times slower: ${took} ms`);
    near(speed.newToken, slower * (2 / 64 + 0.1) / 1000, "a token");
  }
  // At one second for each row: two passes over sixteen tokens and their answer, and the first
  // tokens of one generation.
  const { trained, generated } = await measured({
    ...FAST,
    pass: 0,
    forwardRow: 1000,
    backwardRow: 1000,
  });
  assert.ok(trained.every((rows) => rows === 32) && trained.length === 2, `${trained}`);
  assert.ok(generated.every(([, prompt]) => prompt === 16), `${generated}`);
});

Deno.test("ends of completions are counted, and a stop request ends the probe", async () => {
  const { speed: { sampled } } = await measured(FAST, { endEvery: 50 });
  assert.ok(sampled.tokens > 5000, `${sampled.tokens}`);
  near(sampled.ended, sampled.tokens / 50, "ends");
  const { generated, took } = await measured({ ...FAST, first: 0 }, {
    sampling: {
      maxNewTokens: 1000,
      minNewTokens: 50,
      temperature: 1,
      seed: 1,
      eosIds: [EOS],
      shouldStop: () => true,
    },
  });
  assert.equal(generated.length, 2);
  assert.ok(took < 4000, `${took} ms`);
});
