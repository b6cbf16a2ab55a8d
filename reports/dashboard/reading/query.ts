/** What a request of the page asks for, by the names in its address. */
import type { Context } from "hono";

/** Maximum number of rows of a page. */
const MAX_ROWS = 200;

export const text = (c: Context, name: string) => c.req.query(name) ?? "";

export function number(c: Context, name: string): number | null {
  const given = text(c, name), value = Number(given);
  return given.trim() === "" || !Number.isFinite(value) ? null : value;
}

/** Rows of a page. */
export function limitOf(c: Context): number {
  return Math.max(1, Math.min(MAX_ROWS, Math.floor(number(c, "limit") ?? 50)));
}

/** One of the choices; the first one when something else was given. */
export function choice<const T extends string>(c: Context, name: string, choices: readonly T[]): T {
  return choices.find((one) => one === c.req.query(name)) ?? choices[0]!;
}
