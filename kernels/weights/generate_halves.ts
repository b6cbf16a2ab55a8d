/** The generated loops (generate.ts) that multiply with weights in halves. */
import { each, range } from "./generate_text.ts";

/**
 * Dot products of one or two rows of x with four rows of halves: eight running sums each, which are
 * stored as they are.
 */
export function dotHalves(type: "f16" | "bf16", rows: number): string {
  const columns = 4, half = [0, 1];
  const widened = (word: string, odd: boolean) =>
    type === "bf16"
      ? odd ? `v128.and(${word}, mask)` : `i32x4.shl(${word}, 16)`
      : `v128.and(i32x4.shr_s(${odd ? word : `i32x4.shl(${word}, 16)`}, 3), mask)`;
  const sums = range(rows).flatMap((r) => range(columns).map((c) => `c${r}${c}`));
  const columnCode = (c: number) => {
    const words = half.map((j) => `const w${c}${j} = v128.load(w${c}, ${16 * j});`).join(" ");
    const parts = [false, true].map((odd) => {
      const name = odd ? "o" : "e";
      const values = half.map((j) => `const ${name}${c}${j} = ${widened(`w${c}${j}`, odd)};`);
      const madds = range(rows).flatMap((r) =>
        half.map((j) => {
          const sum = `c${r}${c}${j}`;
          return `${sum} = f32x4.relaxed_madd(x${name}${r}${j}, ${name}${c}${j}, ${sum});`;
        })
      );
      return `    ${values.join(" ")} ${madds.join(" ")}`;
    });
    return [`    ${words}`, ...parts, `    w${c} += 32;`].join("\n");
  };
  const loadX = (r: number) =>
    "    " + half.map((j) =>
      `const xe${r}${j} = v128.load(x${r}, ${16 * j}); ` +
      `const xo${r}${j} = v128.load(x${r}, ${32 + 16 * j});`
    ).join(" ") + ` x${r} += 64;`;
  return `/** Products of ${rows} of x (from matmul_halves_prepare) with four rows of ${type}. */
export function dot_${type}_${rows}(
  x: usize, xStep: usize, w: usize, wStep: usize, sums: usize, k: i32,
): void {
  const mask = v128.load32_splat(MASKS, ${type === "bf16" ? 20 : 24});
  ${each(rows, (r) => `let x${r} = x + ${r} * xStep;`)}
  ${each(columns, (c) => `let w${c} = w + ${c} * wStep;`)}
  ${sums.map((c) => `let ${c}0 = f32x4.splat(0); let ${c}1 = f32x4.splat(0);`).join("\n  ")}
  for (; k > 0; k -= 16) {
${range(rows).map(loadX).join("\n")}
${range(columns).map(columnCode).join("\n")}
  }
  ${
    sums.map((c, at) =>
      `v128.store(sums, ${c}1, ${32 * at + 16}); v128.store(sums, ${c}0, ${32 * at});`
    ).join("\n  ")
  }
}`;
}
