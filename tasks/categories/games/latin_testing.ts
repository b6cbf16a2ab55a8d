/**
 * For tests only: checks that a Latin square puzzle has exactly the given solution. The search
 * always branches on the cell or digit with the fewest possibilities. It shares no code with the
 * generator's solver.
 */

type Pair = readonly [row1: number, column1: number, row2: number, column2: number];

/**
 * `less`: pairs whose first cell is smaller than the second. `regionOf`: a third kind of unit, such
 * as the blocks of a sudoku.
 */
export function isUniqueLatin(
  puzzle: number[][],
  solution: number[][],
  less: readonly Pair[],
  regionOf?: (row: number, column: number) => number,
): boolean {
  const n = puzzle.length, grid = puzzle.map((row) => row.slice());
  const shareLine = (r: number, c: number, y: number, x: number) =>
    r === y || c === x || (regionOf !== undefined && regionOf(r, c) === regionOf(y, x));
  const fits = (r: number, c: number, digit: number) => {
    for (let y = 0; y < n; y++) {
      for (let x = 0; x < n; x++) {
        if (grid[y]![x] === digit && (y !== r || x !== c) && shareLine(r, c, y, x)) return false;
      }
    }
    return less.every(([a, b, y, x]) => {
      const first = a === r && b === c ? digit : grid[a]![b]!;
      const second = y === r && x === c ? digit : grid[y]![x]!;
      if (first > 0 && second > 0) return first < second;
      return first < n && second !== 1;
    });
  };
  const found: string[] = [];
  const search = (): void => {
    let best: [number, number, number][] | undefined;
    const consider = (options: [number, number, number][]) => {
      if (best === undefined || options.length < best.length) best = options;
    };
    const places = new Map<string, [number, number, number][]>();
    for (let r = 0; r < n; r++) {
      for (let c = 0; c < n; c++) {
        if (grid[r]![c] !== 0) continue;
        const options: [number, number, number][] = [];
        for (let digit = 1; digit <= n; digit++) {
          if (!fits(r, c, digit)) continue;
          options.push([r, c, digit]);
          for (const line of [`r${r}`, `c${c}`, regionOf && `b${regionOf(r, c)}`]) {
            const key = `${line} ${digit}`, list = places.get(key) ?? [];
            if (line !== undefined) places.set(key, [...list, [r, c, digit]]);
          }
        }
        consider(options);
        if (best!.length === 0) return;
      }
    }
    if (best === undefined) {
      found.push(JSON.stringify(grid));
      return;
    }
    for (const options of places.values()) consider(options);
    for (const [r, c, digit] of best) {
      grid[r]![c] = digit;
      search();
      grid[r]![c] = 0;
      if (found.length > 1) return;
    }
  };
  const cluesFit = puzzle.every((row, r) => row.every((d, c) => d === 0 || fits(r, c, d)));
  if (cluesFit) search();
  return found.length === 1 && found[0] === JSON.stringify(solution);
}
