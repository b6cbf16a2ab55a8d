/**
 * Measures the kernels that a call may use, on the card: each is first held against others and
 * against the reference, and only right ones are timed, in turns.
 */
import { messageOf, RgxError } from "../../core/errors.ts";
import type { Device } from "../device.ts";
import { choicePoint } from "../devices/webgpu/choice_points.ts";
import { webgpuOp } from "../devices/webgpu/op_table.ts";
import type { WebgpuDevice } from "../devices/webgpu/device.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import type { ChoicePoint, Results, WebgpuOp } from "../ops/common/webgpu_op.ts";
import type { OpName } from "../ops/ops.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import { type RemadeCall, remakeCall, smallerCall } from "./remade_call.ts";

type Args = Record<string, unknown>;

/** What was found about a candidate. */
export interface Measured {
  name: string;
  /** Median milliseconds; null: it was not timed. */
  ms: number | null;
  /** Why it is not used; null: its results are right. */
  wrong: string | null;
}

/** The kernel of a class, and what else was tried. */
export interface TunedClass {
  class: string;
  choice: string;
  /** The kernel of the operation's own rule. */
  rule: string;
  candidates: Measured[];
}

export interface TuneCallOptions {
  /** Max milliseconds for the timing of this call. */
  budgetMs: number;
  /** After this time, as of performance.now(), no further candidate is tried. */
  deadline: number;
  /** Candidates that must not be tried, and why. */
  bad: Readonly<Record<string, string>>;
  /** Called before a candidate runs for the first time. */
  trying: (candidate: string) => void;
  /** Called when a candidate is not right, with the reason. */
  wrong: (candidate: string, reason: string) => void;
  /** Opens the device anew, after a kernel that it has refused. */
  reopen: () => Promise<WebgpuDevice>;
}

/** A candidate replaces the rule only if it is faster by this factor: less is noise. */
const CLEARLY = 0.97;
/** A candidate that takes this many times as long as the best is timed only once. */
const HOPELESS = 1.5;
const MAX_ROUNDS = 9;
/** Milliseconds of a card in one measurement. */
const MEASURED_MS = 2;
/** Elements of an output that are compared; of longer ones, parts all over it. */
const MAX_COMPARED = 2 ** 24, COMPARED_PARTS = 16;

/**
 * The first candidate that is right in the small call is what the others are held against in the
 * whole one.
 * @throws RgxError when the call does not fit into the memory of the card, or no kernel is right
 */
export async function tuneCall(
  device: WebgpuDevice,
  call: RecordedCall,
  options: TuneCallOptions,
): Promise<TunedClass> {
  const point = choicePoint(call.point), small = smallerCall(call, point);
  device.computeDtype = call.computeDtype;
  const args: Args = { ...call.scalars, ...call.tensors };
  const names = point.candidates(args, device), [rule] = names;
  if (names.length === 1) {
    const candidates = [{ name: rule!, ms: null, wrong: null }];
    return { class: call.class, choice: rule!, rule: rule!, candidates };
  }
  const expectedSmall = small === null ? null : await referenceOutputs(small, point);
  const bench = new CallBench(device, call, point);
  const candidates: Measured[] = [];
  let expected: Results | null = null;
  try {
    for (const name of names) {
      let wrong = options.bad[name] ?? null;
      // The rule's own is always tried: it is what a run would use.
      if (candidates.length > 0 && performance.now() > options.deadline) break;
      if (wrong === null) {
        options.trying(name);
        try {
          const found = await bench.outputs(name);
          if (expected !== null) wrong = difference(found, expected, point.tolerance(args));
          if (wrong === null && small !== null) {
            wrong = await smallError(bench.device, small, point, name, expectedSmall!);
          }
          if (wrong === null) expected ??= found;
        } catch (error) {
          wrong = messageOf(error);
          await bench.reopen(options.reopen);
        }
        if (wrong !== null) options.wrong(name, wrong);
      }
      candidates.push({ name, ms: null, wrong });
    }
    const right = candidates.filter(({ wrong }) => wrong === null);
    if (right.length === 0) throw new RgxError(`${call.class}: no kernel is right on this card`);
    await time(bench, right, options);
    return chosen(call.class, candidates);
  } finally {
    bench.close();
  }
}

/** The fastest right candidate, if it is clearly faster than the rule's. */
export function chosen(name: string, candidates: Measured[]): TunedClass {
  const right = candidates.filter(({ wrong, ms }) => wrong === null && ms !== null);
  const best = right.toSorted((a, b) => a.ms! - b.ms!)[0]!;
  const rule = candidates[0]!;
  const keeps = rule.wrong === null && rule.ms !== null && best.ms! > CLEARLY * rule.ms;
  return { class: name, choice: keeps ? rule.name : best.name, rule: rule.name, candidates };
}

/** Times the candidates in turns, so that a change of the card's speed affects all of them. */
async function time(
  bench: CallBench,
  right: Measured[],
  { budgetMs }: TuneCallOptions,
): Promise<void> {
  const times = new Map<Measured, number[]>(right.map((candidate) => [candidate, []]));
  const end = performance.now() + budgetMs;
  let racing = right;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // The first round is over when all have been timed, whatever the budget says.
    if (round > 0 && performance.now() >= end) break;
    for (const candidate of round % 2 === 0 ? racing : racing.toReversed()) {
      const repeat = round === 0 ? 1 : repeatsOf(times.get(candidate)!);
      times.get(candidate)!.push(await bench.milliseconds(candidate.name, repeat));
    }
    for (const candidate of racing) candidate.ms = median(times.get(candidate)!);
    const best = Math.min(...racing.map(({ ms }) => ms!));
    racing = racing.filter(({ ms }) => ms! <= HOPELESS * best);
  }
}

const repeatsOf = (times: readonly number[]) =>
  Math.max(1, Math.min(50, Math.round(MEASURED_MS / Math.max(1e-3, median(times)))));

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** A call on the card, with its outputs and times by candidate. */
class CallBench {
  #made: RemadeCall;

  constructor(
    public device: WebgpuDevice,
    private readonly call: RecordedCall,
    private readonly point: ChoicePoint<Args>,
  ) {
    this.#made = remakeCall(call, point, device);
  }

  async outputs(candidate: string): Promise<Map<string, HostArray[]>> {
    this.#made.reset();
    this.#run(candidate);
    return await readOutputs(this.device, this.point, this.#made.args);
  }

  /** Milliseconds of the card for one call, the mean of `repeat`. */
  async milliseconds(candidate: string, repeat: number): Promise<number> {
    const before = this.#clock();
    const start = performance.now();
    for (let i = 0; i < repeat; i++) this.#run(candidate);
    const after = this.#clock();
    if (before !== null && after !== null) return (after - before) / repeat;
    // The card has no time stamps that can be read at once.
    const [output] = this.point.outputs;
    await this.device.read(this.#made.args[output!] as Tensor, 0, 1);
    return (performance.now() - start) / repeat;
  }

  async reopen(open: () => Promise<WebgpuDevice>): Promise<void> {
    this.device = await open();
    this.device.computeDtype = this.call.computeDtype;
    this.#made = remakeCall(this.call, this.point, this.device);
  }

  close(): void {
    try {
      this.#made.free();
    } catch {
      // The device was lost.
    }
  }

  /** Milliseconds of kernels so far; null: kernels are not timed. */
  #clock(): number | null {
    const times = this.device.kernelTimes();
    if (!this.device.timesKernels) return null;
    return times.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  }

  #run(candidate: string): void {
    runWith(this.device, this.point, this.call.class, candidate, this.#made.args);
  }
}

function runWith(
  device: WebgpuDevice,
  { op }: ChoicePoint<Args>,
  name: string,
  candidate: string,
  args: Args,
): void {
  device.kernelChoices = { [name]: candidate };
  device.runPart(webgpuOp(op as OpName) as unknown as WebgpuOp<Args>, args);
}

/** Holds a candidate against the reference device, on a small call of the same kind. */
async function smallError(
  device: WebgpuDevice,
  small: RecordedCall,
  point: ChoicePoint<Args>,
  candidate: string,
  expected: ReadonlyMap<string, HostArray[]>,
): Promise<string | null> {
  const made = remakeCall(small, point, device);
  try {
    runWith(device, point, point.classOf(made.args, device)!, candidate, made.args);
    const found = await readOutputs(device, point, made.args);
    return difference(found, expected, point.tolerance(made.args));
  } finally {
    made.free();
  }
}

async function referenceOutputs(
  call: RecordedCall,
  point: ChoicePoint<Args>,
): Promise<Map<string, HostArray[]>> {
  const device = createReferenceDevice({ float: "f64" });
  device.computeDtype = call.computeDtype;
  try {
    const made = remakeCall(call, point, device);
    device.run(call.op as OpName, made.args as never);
    return await readOutputs(device, point, made.args);
  } finally {
    device.close();
  }
}

/** The outputs of a call; of long ones parts, the first and the last among them. */
async function readOutputs(
  device: Device,
  { outputs }: ChoicePoint<Args>,
  args: Args,
): Promise<Map<string, HostArray[]>> {
  const found = new Map<string, HostArray[]>();
  for (const name of outputs) {
    const tensor = args[name] as Tensor | undefined;
    if (tensor === undefined) continue;
    const { length } = tensor, parts: HostArray[] = [];
    if (length <= MAX_COMPARED) parts.push(await device.read(tensor));
    else {
      const part = MAX_COMPARED / COMPARED_PARTS;
      for (let i = 0; i < COMPARED_PARTS; i++) {
        const at = Math.floor((length - part) * i / (COMPARED_PARTS - 1));
        parts.push(await device.read(tensor, at, part));
      }
    }
    found.set(name, parts);
  }
  return found;
}

/** Says where results differ by more than the tolerance; null: nowhere. */
export function difference(
  found: Results,
  expected: Results,
  { absolute, relative }: { absolute: number; relative: number },
): string | null {
  for (const [name, parts] of expected) {
    let largest = 0;
    for (const part of parts) for (const x of part) largest = Math.max(largest, Math.abs(x));
    const bound = absolute + relative * largest;
    for (const [p, part] of parts.entries()) {
      const other = found.get(name)![p]!;
      for (let i = 0; i < part.length; i++) {
        // Not ">", which is false for NaN.
        if (Math.abs(other[i]! - part[i]!) <= bound || other[i] === part[i]) continue;
        return `${name}: element ${i} of part ${p} is ${other[i]}, expected ${part[i]} ± ${bound}`;
      }
    }
  }
  return null;
}
