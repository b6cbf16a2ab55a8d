/**
 * Each character in lower case by itself. JavaScript writes the last sigma of a Greek word
 * differently from the others.
 */
export function lowercase(text: string): string {
  return text.includes("Σ")
    ? Array.from(text, (character) => character.toLowerCase()).join("")
    : text.toLowerCase();
}
