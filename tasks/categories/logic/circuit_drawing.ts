/**
 * Draws a circuit as text: a vertical wire for every input, a row for every input of a gate, blank
 * rows between the gates, and the final gate as a column of signs on the right.
 *
 *     A B C
 *     │ │ │
 *     ●─┼─┼──────│&
 *     │ ●─┼───>o─│&───│+
 *     │ │ │           │+
 *     │ │ ●──────│⊕───│+─── OUT
 *     ●─┼─┼──────│⊕
 */

/** One input of a gate: the number of its wire, and whether it is negated. */
export interface GateRow {
  wire: number;
  negated: boolean;
}

export interface DrawnGate {
  symbol: string;
  rows: readonly GateRow[];
}

export function drawCircuit(
  names: readonly string[],
  gates: readonly DrawnGate[],
  finalSymbol: string,
): string {
  const width = names.at(-1)!.length + 1;
  const pad = " ".repeat(width - 1), run = "─".repeat(width - 1);
  const bare = `│${pad}`.repeat(names.length);
  const inputs: string[] = [], symbols: string[] = [];
  /** The rows that contain the output of a gate. */
  const outputs = new Set<number>();
  gates.forEach(({ symbol, rows }, i) => {
    if (i > 0) {
      inputs.push(bare);
      symbols.push("");
    }
    outputs.add(inputs.length + Math.floor((rows.length - 1) / 2));
    for (const { wire, negated } of rows) {
      const crossed = `┼${run}`.repeat(names.length - 1 - wire);
      inputs.push(`│${pad}`.repeat(wire) + `●${run}${crossed}${negated ? "──>o─" : "─────"}`);
      symbols.push(symbol);
    }
  });
  const first = Math.min(...outputs), last = Math.max(...outputs);
  const middle = Math.floor((first + last) / 2);
  const lines = inputs.map((wires, row) => {
    const gate = symbols[row] === "" ? wires + " ".repeat(7) : `${wires}│${symbols[row]}`;
    const lead = row < first || row > last ? "" : outputs.has(row) ? "───" : "   ";
    return `${gate}${lead}${lead && `│${finalSymbol}`}${row === middle ? "─── OUT" : ""}`.trimEnd();
  });
  return [names.map((name) => name.padEnd(width)).join("").trimEnd(), bare.trimEnd(), ...lines]
    .join("\n");
}
