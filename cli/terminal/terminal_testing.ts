/**
 * For tests: what a part of the program writes to stderr, on a terminal or not, with a clock that
 * the test sets.
 */

/**
 * The texts that `work` writes to stderr, piece by piece.
 * @param live whether stderr is a terminal, of 60 columns
 * @param work synchronous; it begins at 0 ms and sets the time itself
 */
export function shown(live: boolean, work: (setTime: (ms: number) => void) => void): string[] {
  const texts: string[] = [], { stderr } = Deno;
  const { writeSync, isTerminal } = stderr, { now } = performance, { get } = Deno.env;
  let time = 0;
  performance.now = () => time;
  stderr.isTerminal = () => live;
  Deno.env.get = (name) => name === "COLUMNS" ? "60" : undefined;
  stderr.writeSync = (bytes) => {
    texts.push(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  try {
    work((ms) => void (time = ms));
  } finally {
    Object.assign(stderr, { writeSync, isTerminal });
    performance.now = now;
    Deno.env.get = get;
  }
  return texts;
}
