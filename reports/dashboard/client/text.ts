/** Numbers, times and sizes as text. */
import { bytesText } from "../../../core/bytes.ts";
import { percentDigits } from "../../../core/counted.ts";
import { duration } from "../../../core/duration.ts";
import { metricOf } from "../../charts/metric_table.ts";
import type { Spark } from "../reading/metrics_file.ts";
import type { RunInfo } from "../reading/run_state.ts";

/** Four significant digits; large and small numbers with a power of ten. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return signed(value.toExponential(2));
  const digits = Number(value.toPrecision(size >= 1000 ? 6 : 4));
  // A thin space between thousands, which does not break.
  return signed(
    digits.toLocaleString("en-US", { maximumFractionDigits: 7 })
      .replaceAll(",", "\u202f"),
  );
}

/** A number's text with a minus sign that is as wide as a plus. */
export const signed = (text: string): string => text.replace(/^-/, "−");

export function percent(share: number): string {
  return `${percentDigits(share)} %`;
}

interface Interval {
  ci95: readonly [number, number];
}

/** "[34.3, 42.9]" */
export function intervalText({ ci95 }: Interval): string {
  return `[${ci95.map((end) => signed(percentDigits(end))).join(", ")}]`;
}

/** "38.6 % [34.3, 42.9]" */
export function accuracyText(value: Interval & { accuracy: number; total?: number } | null) {
  if (value === null) return "–";
  return value.total === 0 ? "not asked" : `${percent(value.accuracy)} ${intervalText(value)}`;
}

/** The held-out accuracy of a run before training, and the newest one. */
export function heldOut({ before, after }: RunInfo, spark: Spark | undefined) {
  return { before: before ?? spark?.first ?? null, last: after ?? spark?.now ?? null };
}

/** "+12.4" */
export function pointsText(difference: number): string {
  return `${difference > 0 ? "+" : ""}${signed(percentDigits(difference))}`;
}

/** "+12.4 points [3.1, 21.7]" */
export function gainText(gain: Interval & { difference: number }): string {
  return `${pointsText(gain.difference)} points ${intervalText(gain)}`;
}

/** "0.012"; "< 0.001". @param equals what stands before a number */
export function pText(p: number, equals = ""): string {
  return p < 0.001 ? "< 0.001" : `${equals}${p.toFixed(3)}`;
}

/** "2 h 5 min"; "0.34 s" */
export function timeText(seconds: number | null): string {
  if (seconds === null) return "–";
  return seconds < 10 ? `${short(Number(seconds.toPrecision(2)))} s` : duration(seconds);
}

/** "3 min ago", by this machine's clock. */
export function agoText(iso: string | null): string {
  if (iso === null) return "–";
  const seconds = (Date.now() - Date.parse(iso)) / 1000, days = Math.floor(seconds / 86_400);
  if (days > 1) return `${days} days ago`;
  return seconds < 5 ? "just now" : `${duration(seconds).replace(/ \d+ (s|min)$/, "")} ago`;
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

/** A metric's value with its unit, by the metric's name. */
export function metricText(name: string, value: number): string {
  const { unit } = metricOf(name);
  if (unit === "share") return `${short(Number((100 * value).toPrecision(4)))} %`;
  if (unit === "bytes") return bytesText(value);
  if (unit === "s") return timeText(value);
  return unit === "" ? short(value) : `${short(value)} ${unit}`;
}
