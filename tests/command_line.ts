/** Command lines of tests, written as in a shell. */

/**
 * The words of a command line: argv`train ${config} --max-steps 2 ${flags}`.
 *
 * Space and line ends separate words. A value is a word, or a part of one (`--out=${folder}/x`),
 * also if it holds spaces or is empty. A list is words of its own, with space around it.
 */
export function argv(
  texts: TemplateStringsArray,
  ...values: (string | number | readonly string[])[]
): string[] {
  const words: string[] = [];
  let isOpen = false;
  const add = (part: string) => {
    if (isOpen) words[words.length - 1] += part;
    else words.push(part);
    isOpen = true;
  };
  for (const [i, text] of texts.entries()) {
    for (const part of text.split(/(\s+)/)) {
      if (part.trim() !== "") add(part);
      else if (part !== "") isOpen = false;
    }
    const value = values[i];
    if (Array.isArray(value)) {
      if (isOpen || /^\S/.test(texts[i + 1]!)) throw new TypeError(`space around ${value}`);
      words.push(...value);
    } else if (value !== undefined) add(String(value));
  }
  return words;
}
