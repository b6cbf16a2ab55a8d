/** Helpers for generated text. */

export const range = (n: number) => [...Array(n).keys()];

/** The parts for 0 … n − 1 in one line. */
export const each = (n: number, part: (j: number) => string) => range(n).map(part).join(" ");
