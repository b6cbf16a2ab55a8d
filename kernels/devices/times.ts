/** How long the operations or kernels of a device take, as a table. */

/** Of one call, or of all with the same name. */
export interface Time {
  name: string;
  calls: number;
  milliseconds: number;
  /** 0: unknown. */
  flops: number;
  bytes: number;
}

export class Times {
  readonly #totals = new Map<string, Time>();

  /** @param each called for every call */
  constructor(private readonly each: ((call: Time) => void) | null = null) {}

  add(call: Omit<Time, "calls">): void {
    const { name, milliseconds, flops, bytes } = call, before = this.#totals.get(name);
    this.#totals.set(name, {
      name,
      calls: (before?.calls ?? 0) + 1,
      milliseconds: (before?.milliseconds ?? 0) + milliseconds,
      flops: (before?.flops ?? 0) + flops,
      bytes: (before?.bytes ?? 0) + bytes,
    });
    this.each?.({ ...call, calls: 1 });
  }

  /** The totals, most expensive first. */
  table(): Time[] {
    return [...this.#totals.values()].sort((a, b) => b.milliseconds - a.milliseconds);
  }
}

const totalOf = (rows: readonly Time[]) =>
  rows.reduce((total, { milliseconds }) => total + milliseconds, 0);

/** The table as text: share, and what {@link measured} gives. */
export function formatTimes(rows: readonly Time[]): string[] {
  const total = totalOf(rows);
  return rows.map((row) => {
    const share = (100 * row.milliseconds / total).toFixed(1).padStart(5);
    return `${row.name.padEnd(30)} ${share} % ${measured(row)}`;
  });
}

/** Time, calls, GFLOP/s if known, GB/s. */
function measured({ calls, milliseconds, flops, bytes }: Time): string {
  const rate = (amount: number) => (amount / milliseconds / 1e6).toFixed(1).padStart(8);
  return `${milliseconds.toFixed(2).padStart(10)} ms ${String(calls).padStart(7)} x ` +
    `${flops > 0 ? rate(flops) : "       –"} GFLOP/s ${rate(bytes)} GB/s`;
}

export const printTime = (call: Time) => console.error(`${call.name.padEnd(30)} ${measured(call)}`);

/** Prints the total and a table to standard error when the device is closed. */
export function printTimesAtClose(
  device: { close(): void },
  heading: string,
  table: () => Time[],
): void {
  const close = device.close.bind(device);
  let closed = false;
  device.close = () => {
    const rows = closed ? [] : table();
    close();
    if (closed) return;
    closed = true;
    console.error(`${heading}: ${totalOf(rows).toFixed(1)} ms`);
    for (const line of formatTimes(rows)) console.error(line);
  };
}
