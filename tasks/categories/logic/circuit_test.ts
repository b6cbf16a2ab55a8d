/** Reads the drawing of circuit_logic column by column and computes it again. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";

/** The output of a gate, given by its sign in the legend. */
function gateOutput(sign: string, inputs: boolean[]): boolean {
  if (sign === "&") return !inputs.includes(false);
  if (sign === "↑") return inputs.includes(false);
  if (sign === "+") return inputs.includes(true);
  if (sign === "↓") return !inputs.includes(true);
  assert.equal(sign, "⊕");
  return inputs.reduce((odd, input) => odd !== input, false);
}

/**
 * The output of a drawing. Each gate is a run of rows that ends in its sign; blank rows separate
 * gates.
 */
function outputOf(question: string): boolean {
  const values = new Map(
    [...question.matchAll(/\b([A-Z]+) = ([01])/g)].map(([, name, digit]) => [name!, digit === "1"]),
  );
  const [header, , ...rows] = question.split("\n\n")[1]!.split("\n") as [
    string,
    string,
    ...string[],
  ];
  const nameAt = new Map(
    [...header.matchAll(/[A-Z]+/g)].map(({ 0: name, index }) => [index, name]),
  );
  assert.equal(nameAt.size, values.size);
  const outputs: boolean[] = [];
  let sign = "", inputs: boolean[] = [], finalSign = "", ends = 0, wired = 0;
  for (const row of [...rows, ""]) {
    const body = /^([│●┼─> o]*?)(?:(──>o─|─────)│([&↑⊕])( *|───))?(?:│([&↑⊕+↓])(─── OUT)?)?$/
      .exec(row);
    assert.ok(body, row);
    const [, wires, lead, inputSign, link, last, out] = body;
    if (last !== undefined) {
      assert.ok(finalSign === "" || finalSign === last);
      finalSign = last;
    }
    ends += out === undefined ? 0 : 1;
    if (inputSign === undefined) {
      assert.ok(inputs.length > 0 && wired === 1, "a gate with one output ends here");
      outputs.push(gateOutput(sign, inputs));
      inputs = [];
      wired = 0;
      continue;
    }
    assert.ok(inputs.length === 0 || sign === inputSign, row);
    sign = inputSign;
    wired += link === "───" ? 1 : 0;
    const tap = wires!.indexOf("●");
    assert.ok(tap !== -1 && tap === wires!.lastIndexOf("●"));
    assert.ok(!wires!.slice(tap + 1).includes("│") && !wires!.slice(0, tap).includes("─"), row);
    inputs.push(values.get(nameAt.get(tap)!)! !== (lead === "──>o─"));
  }
  assert.equal(ends, 1);
  return gateOutput(finalSign, outputs);
}

Deno.test("circuit_logic: the circuit as drawn gives the answer", () => {
  const configs = [
    { seed: 1, size: 150 },
    { seed: 2, size: 40, min_terms: 1, max_terms: 2, min_inputs: 1, max_inputs: 2, neg_prob: 1 },
    { seed: 3, size: 20, min_terms: 5, max_terms: 10, max_inputs: 6, allow_reuse: false },
  ];
  for (const { question, answer } of entriesOf("circuit_logic", configs)) {
    assert.equal(answer, outputOf(question) ? "1" : "0", question);
  }
});

Deno.test("circuit_logic: without reuse each input has one gate; after Z comes AA", () => {
  const config = { seed: 1, size: 20, min_terms: 10, max_terms: 10, allow_reuse: false };
  for (const { metadata } of createDataset("circuit_logic", { ...config, min_inputs: 4 })) {
    const inputs = metadata["inputs"] as string[];
    assert.equal(inputs.length, 40);
    assert.deepEqual(inputs.slice(24, 29), ["Y", "Z", "AA", "AB", "AC"]);
    const used = (metadata["expression"] as string).match(/[A-Z]+/g)!;
    assert.deepEqual(used, inputs);
  }
});

Deno.test("G22: gates with one input are never NAND, and the legend has every gate once", () => {
  const config = { seed: 1, size: 300, min_inputs: 1, max_inputs: 1 };
  for (const { question, metadata } of createDataset("circuit_logic", config)) {
    const legend = [...question.matchAll(/ is (AND|NAND|XOR|OR|NOR): /g)].map((match) => match[1]);
    assert.equal(new Set(legend).size, legend.length);
    assert.ok(legend.includes(metadata["final_gate"] as string));
    assert.ok(!legend.includes("NAND"));
  }
});
