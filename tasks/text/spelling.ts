/** How words are written in a sentence. */

/** "She" at the beginning of a sentence. */
export function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
