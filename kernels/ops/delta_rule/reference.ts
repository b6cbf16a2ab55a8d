/** Reference of the gated delta rule and its gradient: one head and position at a time. */
import { floats, words } from "../common/reference_tensor.ts";
import {
  DELTA_SEGMENT as AT,
  type DeltaRuleArgs,
  type DeltaRuleBackwardArgs,
  deltaWidth,
  NO_STATE,
  NORM_EPS,
  stateSize,
} from "./spec.ts";

type Inputs = DeltaRuleArgs | DeltaRuleBackwardArgs;

const sigmoid = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : 1 - 1 / (1 + Math.exp(x));
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const silu = (x: number) => x * sigmoid(x);
const siluSlope = (x: number) => sigmoid(x) * (1 + x * (1 - sigmoid(x)));

/** What a head reads of a row. */
function headInputs(args: Inputs, row: number, head: number) {
  const { keyHeads, valueHeads, keyDim, valueDim } = args, x = floats(args.x);
  const width = deltaWidth(args), keyHead = Math.floor(head * keyHeads / valueHeads);
  const at = row * valueHeads + head, keys = keyHeads * keyDim;
  const part = (from: number, n: number) => Float64Array.from(x.subarray(from, from + n), silu);
  const unit = (from: number, scale: number) => {
    const y = part(from, keyDim), norm = Math.sqrt(y.reduce((sum, z) => sum + z * z, NORM_EPS));
    return { from, vector: y.map((z) => z / norm), norm, scale };
  };
  const shifted = floats(args.a)[at]! + floats(args.dtBias)[head]!;
  const rate = Math.exp(floats(args.aLog)[head]!), decay = -rate * softplus(shifted);
  const valueAt = row * width + 2 * keys + head * valueDim;
  return {
    at,
    valueAt,
    q: unit(row * width + keyHead * keyDim, 1 / Math.sqrt(keyDim)),
    k: unit(row * width + keys + keyHead * keyDim, 1),
    v: part(valueAt, valueDim),
    shifted,
    rate,
    decay,
    gamma: Math.exp(decay),
    beta: sigmoid(floats(args.b)[at]!),
  };
}

type HeadInputs = ReturnType<typeof headInputs>;

/** The state after a position, and δ and v − u of its columns. */
function step(state: Float64Array, { k: { vector: k }, v, gamma, beta }: HeadInputs) {
  const n = v.length, after = state.map((s) => gamma * s);
  const rest = v.map((value, j) => k.reduce((sum, ki, i) => sum - ki * after[i * n + j]!, value));
  const delta = rest.map((x) => beta * x);
  for (let i = 0; i < after.length; i++) after[i]! += k[Math.floor(i / n)]! * delta[i % n]!;
  return { after, rest, delta };
}

/** The segments in order. */
function segmentsOf({ segments, segmentCount }: Inputs) {
  const table = words(segments);
  return Array.from({ length: segmentCount }, (_, s) => {
    const at = (column: number) => table[s * AT.columns + column]!;
    return { begin: at(AT.begin), end: at(AT.end), from: at(AT.from), to: at(AT.to) };
  });
}

export function deltaRule(args: DeltaRuleArgs): void {
  const { valueHeads, keyDim, valueDim: n } = args, size = keyDim * n;
  const out = floats(args.out), states = floats(args.state);
  const place = (state: number, head: number) => state * stateSize(args) + head * size;
  for (const { begin, end, from, to } of segmentsOf(args)) {
    for (let head = 0; head < valueHeads; head++) {
      let state = new Float64Array(size);
      if (from !== NO_STATE) {
        state.set(states.subarray(place(from, head), place(from, head) + size));
      }
      for (let row = begin; row < end; row++) {
        const inputs = headInputs(args, row, head), { vector: q, scale } = inputs.q;
        state = step(state, inputs).after;
        for (let j = 0; j < n; j++) {
          out[(row * valueHeads + head) * n + j] = scale *
            q.reduce((sum, qi, i) => sum + qi * state[i * n + j]!, 0);
        }
      }
      if (to !== NO_STATE) states.set(state, place(to, head));
    }
  }
}

export function deltaRuleBackward(args: DeltaRuleBackwardArgs): void {
  const { valueHeads, keyDim, valueDim: n, states } = args, size = keyDim * n;
  const dout = floats(args.dout), dx = new Float64Array(args.rows * deltaWidth(args));
  const da = floats(args.da), db = floats(args.db), dlog = floats(args.dlog), x = floats(args.x);
  for (let head = 0; head < valueHeads; head++) {
    const after: Float64Array[] = [], ends = Array.from({ length: states }, () => zeros(size));
    const derivatives = Array.from({ length: states }, () => zeros(size));
    for (const { begin, end, from, to } of segmentsOf(args)) {
      let state = from === NO_STATE ? zeros(size) : ends[from]!;
      for (let row = begin; row < end; row++) {
        after[row] = state = step(state, headInputs(args, row, head)).after;
      }
      if (to !== NO_STATE) ends[to] = state;
    }
    for (const { begin, end, from, to } of segmentsOf(args).reverse()) {
      let D = to === NO_STATE ? zeros(size) : derivatives[to]!;
      for (let row = end - 1; row >= begin; row--) {
        const first = from === NO_STATE ? zeros(size) : ends[from]!;
        const before = row === begin ? first : after[row - 1]!,
          inputs = headInputs(args, row, head);
        const { at, valueAt, q, k, gamma, beta, shifted, rate, decay } = inputs;
        const { rest, delta } = step(before, inputs);
        const dy = dout.subarray(at * n, (at + 1) * n), dq = zeros(keyDim), dk = zeros(keyDim);
        D = D.map((d, i) => d + q.scale * q.vector[Math.floor(i / n)]! * dy[i % n]!);
        const ddelta = delta.map((_, j) =>
          k.vector.reduce((sum, ki, i) => sum + ki * D[i * n + j]!, 0)
        );
        let dgamma = 0, dbeta = 0;
        D.forEach((d, at) => {
          const i = Math.floor(at / n), j = at % n, du = -beta * ddelta[j]!;
          dq[i]! += q.scale * after[row]![at]! * dy[j]!;
          dk[i]! += d * delta[j]! + gamma * before[at]! * du;
          D[at] = d + k.vector[i]! * du;
          dgamma += before[at]! * D[at]!;
          D[at]! *= gamma;
        });
        ddelta.forEach((d, j) => {
          dbeta += d * rest[j]!;
          dx[valueAt + j] = beta * d * siluSlope(x[valueAt + j]!);
        });
        for (const [{ from, vector, norm }, dy] of [[q, dq], [k, dk]] as const) {
          const along = vector.reduce((sum, y, i) => sum + y * dy[i]!, 0);
          vector.forEach((y, i) =>
            dx[from + i]! += (dy[i]! - y * along) / norm * siluSlope(x[from + i]!)
          );
        }
        dlog[at] = dgamma * gamma * decay;
        da[at] = -dgamma * gamma * rate * sigmoid(shifted);
        db[at] = dbeta * beta * (1 - beta);
      }
      if (from !== NO_STATE) derivatives[from] = derivatives[from]!.map((d, i) => d + D[i]!);
    }
  }
  floats(args.dx).set(dx);
}

const zeros = (n: number) => new Float64Array(n);
