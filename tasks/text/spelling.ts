/** Spelling of words in a sentence. */

/** Capitalizes the first letter: "she" becomes "She". */
export function capitalize(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
