import assert from "node:assert/strict";
import { RandomStream } from "../../../core/philox.ts";
import { createDataset } from "../../dataset.ts";
import { templates } from "./gsm_symbolic.ts";

/**
 * The value of a side of an equation, e.g. "2 × ($3 + 4)", "25% of 80" or "(5 + 6) × 2 ÷ 2"; null
 * for prose.
 */
function valueOf(side: string): number | null {
  const plain = side.replace(/(\d+)% of (\d+)/, "($1 * $2 / 100)").replace(
    / (km|m²|m|cm|kg|g|litres)\b/g,
    "",
  )
    .replaceAll("$", "").replaceAll("×", "*").replaceAll("÷", "/").replaceAll("−", "-");
  return /^[-+*/(). 0-9]+$/.test(plain) && /\d/.test(plain) ? Function(`return ${plain}`)() : null;
}

/** A plural noun after the number one. */
const ONE_OF_MANY = new RegExp(
  String.raw`\b1 (hours|minutes|seconds|days|weeks|years|degrees|points|rows|floors|pieces|` +
    String.raw`trips|times|friends|people|pupils|votes|eggs|cars|dollars|boxes)\b`,
);

Deno.test("every template gives integer answers with right solutions for many draws", () => {
  assert.ok(templates.length >= 100, `${templates.length} templates`);
  let equations = 0;
  templates.forEach((template, t) => {
    for (let i = 0; i < 40; i++) {
      const random = RandomStream.forTask(77, "train", `template ${t}`, i);
      const { question, answer, steps, variables } = template(random);
      const label = `template ${t}, draw ${i}: ${question}`;
      assert.ok(Number.isSafeInteger(answer), `${label} → ${answer}`);
      assert.ok(question.endsWith("?"), label);
      assert.ok(
        !/NaN|undefined|\.\d{3,}|Infinity|\$-|[ (]-\d/.test(question + steps.join()),
        label,
      );
      assert.ok(!ONE_OF_MANY.test(`${question} ${steps.join(" ")}`), label);
      assert.ok(Object.keys(variables).length >= 3, label);
      const last = steps.at(-1)!;
      assert.ok(new RegExp(`(?<!\\d)${Math.abs(answer)}(?!\\d)`).test(last), `${label}: ${last}`);
      for (const step of steps) {
        const sides = step.replace(/^[^:=]*: /, "").split(" = ");
        for (let k = 1; k < sides.length; k++) {
          const left = valueOf(sides[k - 1]!.replace(/^.*?(?=[($\d])/, ""));
          const right = valueOf((/^-?\$?-?[\d.]+/.exec(sides[k]!) ?? [""])[0]);
          if (left === null || right === null || /[-+*/÷×−]/.test(sides[k]!.slice(0, 12))) continue;
          assert.equal(left, right, `${label}: ${step}`);
          equations++;
        }
      }
    }
  });
  assert.ok(equations > 10_000, `only ${equations} equations were checked`);
});

Deno.test("more than a hundred templates are drawn about equally often", () => {
  const dataset = createDataset("gsm_symbolic", { seed: 1, size: 2000 });
  const shapes = new Map<string, number>();
  for (const { question, metadata } of dataset) {
    assert.match(
      metadata["answer_cot"] as string,
      new RegExp(`\\n#### ${metadata["answer_value"]}$`),
    );
    assert.ok(question.endsWith("Answer with the number only."));
    const shape = Object.keys(metadata["variables"] as object).join();
    shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
  }
  assert.ok(shapes.size >= 100, `${shapes.size} different stories`);
  assert.ok(Math.max(...shapes.values()) < 50, "no story comes too often");
});
