/**
 * Writes `arc.br` from one JSON file with the puzzles of ARC-AGI-1, `{train, eval: {id: {train,
 * test: [{input, output}]}}}`. It was run by hand, once:
 *
 *     deno run -A tasks/assets/make_arc.ts arc-agi-1.json
 *
 * A puzzle is one line: the part (`t` or `e`) and the id, a `>` before the pairs that show the
 * rule, another `>` before the test pairs, and input and output of each pair. The items are
 * separated by spaces. A board is its rows of digits with a slash between rows.
 */
import { brotliCompressSync, constants } from "node:zlib";

type Board = number[][];
type Pair = { input: Board; output: Board };
type Puzzles = Record<string, { train: Pair[]; test: Pair[] }>;

const parts = JSON.parse(Deno.readTextFileSync(Deno.args[0]!)) as Record<"train" | "eval", Puzzles>;
const lines: string[] = [];
for (const [part, puzzles] of Object.entries(parts)) {
  for (const id of Object.keys(puzzles).sort()) {
    const { train, test } = puzzles[id]!;
    lines.push([part[0]! + id, ">", ...train.map(pairText), ">", ...test.map(pairText)].join(" "));
  }
}
const bytes = new TextEncoder().encode(lines.join("\n") + "\n");
const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 };
Deno.writeFileSync(new URL("./arc.br", import.meta.url), brotliCompressSync(bytes, { params }));
console.log(`${lines.length} puzzles, ${bytes.length} bytes before compression`);

function pairText({ input, output }: Pair): string {
  return `${boardText(input)} ${boardText(output)}`;
}

function boardText(board: Board): string {
  return board.map((row) => row.join("")).join("/");
}
