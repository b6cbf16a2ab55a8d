/** Numbers, times and sizes as text. */

/** Four significant digits; large and small numbers with a power of ten. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(2);
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replaceAll(",", " ");
  return String(Number(value.toPrecision(4)));
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** "38.6 % [34.3, 42.9]" */
export function accuracyText(
  value: { accuracy: number; ci95: readonly [number, number]; total?: number } | null,
): string {
  if (value === null || value.total === 0) return "–";
  const [low, high] = value.ci95.map((end) => (100 * end).toFixed(1));
  return `${percent(value.accuracy)} [${low}, ${high}]`;
}

/** "2 h 5 min" */
export function timeText(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min`;
  const days = Math.floor(hours / 24);
  return days === 0 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`;
}

/** "3 min ago", by this machine's clock. */
export function agoText(iso: string | null): string {
  if (iso === null) return "–";
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  return seconds < 5 ? "just now" : `${timeText(seconds)} ago`;
}

/** Local date and time. */
export function dateText(iso: string | null): string {
  if (iso === null) return "–";
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes, unit = 0;
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size.toPrecision(3)} ${units[unit]}`;
}

/** A metric's value with its unit, by the metric's name. */
export function metricText(name: string, value: number): string {
  if (/bytes$/.test(name)) return bytesText(value);
  if (/^time\/|step_time$/.test(name)) return `${short(value)} s`;
  return short(value);
}
