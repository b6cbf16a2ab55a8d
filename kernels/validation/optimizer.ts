/** Checks the arguments of the optimizer's operations, for validate.ts. */
import { TABLES } from "../ops/adamw_8bit/dynamic_map.ts";
import { type Adamw8bitArgs, BLOCK } from "../ops/adamw_8bit/spec.ts";
import type { RoundBf16Args, WidenBf16Args } from "../ops/bf16_weights/spec.ts";
import { type AdamwArgs, SUM_CHUNK, type SumSquaresArgs } from "../ops/optimizer/spec.ts";
import type { Call } from "./call.ts";

/** What adamw and adamw_8bit share. */
function checkStep(args: Omit<AdamwArgs, "m" | "v">, call: Call): void {
  const { n, lr, beta1, beta2, weightDecay, correction1, correction2, gradScale } = args;
  call.finite({ lr, beta1, beta2, weightDecay, gradScale });
  if (!(correction1 > 0 && correction1 <= 1)) call.fail("correction1", correction1, "in (0, 1]");
  if (!(correction2 > 0 && correction2 <= 1)) call.fail("correction2", correction2, "in (0, 1]");
  call.inputs({ grad: n });
  call.outputs({ param: n });
}

export function checkAdamw(args: AdamwArgs, call: Call): void {
  checkStep(args, call);
  call.outputs({ m: args.n, v: args.n });
}

export function checkAdamw8bit(args: Adamw8bitArgs, call: Call): void {
  checkStep(args, call);
  const words = Math.ceil(args.n / 4), blocks = Math.ceil(args.n / BLOCK);
  call.inputs({ tables: TABLES.words }, "u32");
  call.outputs({ m: words, v: words }, "u32");
  call.outputs({ mMax: blocks, vMax: blocks });
}

export function checkSumSquares({ n }: SumSquaresArgs, call: Call): void {
  call.inputs({ x: n });
  call.outputs({ partial: Math.ceil(n / SUM_CHUNK) });
}

function evenSize(n: number, call: Call): void {
  if (n % 2 !== 0) call.fail("n", n, "an even number");
}

export function checkWidenBf16({ rest, n }: WidenBf16Args, call: Call): void {
  evenSize(n, call);
  call.inputs({ weight: n / 2, rest: rest && n / 2 }, "u32");
  call.outputs({ out: n });
}

export function checkRoundBf16(args: RoundBf16Args, call: Call): void {
  const { rest, n, first } = args;
  evenSize(n, call);
  for (const name of ["c1", "c2", "c3", "seedLow", "seedHigh"] as const) {
    if (args[name] !== args[name] >>> 0) call.fail(name, args[name], "a 32-bit word");
  }
  if (!Number.isInteger(first) || first < 0 || first % 4 !== 0 || first + n > 2 ** 34) {
    call.fail("first", first, "a multiple of 4 below 2^34");
  }
  call.inputs({ x: n });
  call.outputs({ weight: n / 2, rest: rest && n / 2 }, "u32");
}
