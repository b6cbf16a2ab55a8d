/** Helpers that wait for other programs. */

export const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Waits until `isDone`, which is called every quarter of a second.
 * @throws Error after `seconds`
 */
export async function until(
  what: string,
  seconds: number,
  isDone: () => Promise<boolean> | boolean,
): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !await isDone(); await delay(250)) {
    if (Date.now() > end) throw new Error(`waited ${seconds} s without success: ${what}`);
  }
}
