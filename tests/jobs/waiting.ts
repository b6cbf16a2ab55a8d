/** Waiting for what programs do. */

export const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Looks every quarter of a second; @throws Error after so many seconds. */
export async function until(
  what: string,
  seconds: number,
  isSo: () => Promise<boolean> | boolean,
): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !await isSo(); await delay(250)) {
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain: ${what}`);
  }
}
