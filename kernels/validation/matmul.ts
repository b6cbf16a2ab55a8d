/** Checks the arguments of matmul and pack_weight, for validate.ts. */
import {
  INT8_ACTIVATIONS,
  type MatmulArgs,
  packedLength,
  type PackWeightArgs,
} from "../ops/matmul/spec.ts";
import type { Call } from "./call.ts";

export function checkMatmul(args: MatmulArgs, call: Call): void {
  const { m, n, k, transB, packedB, weightType } = args;
  if (packedB && transB) call.fail("packedB", true, "no transB beside it");
  call.inputs({ a: m * k });
  if (weightType === undefined) {
    call.inputs({ b: packedB ? packedLength(n, k) : k * n });
  } else {
    if (packedB) call.fail("weightType", weightType, "no packedB beside it");
    if (args.transA) call.fail("weightType", weightType, "no transA beside it");
    call.stored("b", weightType, transB ? n : k, transB ? { k } : { n });
  }
  if (args.activations !== undefined) int8Activations(args, call);
  const { xa, loraB, r } = args;
  const missing = (["xa", "loraB", "r"] as const).find((name) => args[name] === undefined);
  if (xa !== undefined && loraB !== undefined && r !== undefined) {
    call.inputs({ xa: m * r, loraB: n * r });
  } else if (missing && (xa !== undefined || loraB !== undefined || r !== undefined)) {
    call.fail(missing, "absent", "xa, loraB and r together");
  }
  call.outputs({ out: m * n });
}

function int8Activations({ activations, transB, weightType }: MatmulArgs, call: Call): void {
  if (activations !== "int8") call.fail("activations", activations, "int8");
  if (weightType === undefined || !INT8_ACTIVATIONS.includes(weightType)) {
    call.fail(
      "weightType",
      weightType ?? "absent",
      `one of ${INT8_ACTIVATIONS.join(", ")} for int8`,
    );
  }
  if (!transB) call.fail("transB", false, "transB for int8 activations");
}

export function checkPackWeight({ n, k }: PackWeightArgs, call: Call): void {
  call.inputs({ weight: n * k });
  call.outputs({ out: packedLength(n, k) });
}
