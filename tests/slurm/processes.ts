/** Running programs, and waiting for what they do. */

export interface Output {
  code: number;
  out: string;
  err: string;
}

export async function run(
  [program, ...args]: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

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
