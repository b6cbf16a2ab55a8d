/** A table whose last column is a text, which is wrapped. */
import { table, wrap } from "./terminal.ts";

/**
 * The lines of a table. The texts of the last column are wrapped, so that it fits into `width`.
 * @param cells the rows without their last column
 * @param texts the last column, one text per row
 */
export function describedTable(cells: string[][], texts: string[], width: number): string[] {
  const rows = table(cells).split("\n");
  const indent = Math.max(...rows.map((row) => row.length)) + 2;
  return rows.flatMap((row, i) =>
    wrap(texts[i]!, Math.max(20, width - indent)).map((line, part) =>
      (part === 0 ? row : "").padEnd(indent) + line
    )
  );
}
