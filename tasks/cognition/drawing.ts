/** Drawings made of characters, as the codes of one text: fast to fill and to read out. */

const LINE_END = 10;
const decoder = new TextDecoder("utf-16le");

/** `height` lines of `width` times the same character, each with a line end; cell (x, y) is at y · (width + 1) + x. */
export function blankDrawing(width: number, height: number, character: string): Uint16Array {
  const codes = new Uint16Array((width + 1) * height).fill(character.charCodeAt(0));
  for (let y = 0; y < height; y++) codes[y * (width + 1) + width] = LINE_END;
  return codes;
}

/** The text; every machine that Deno runs on stores the low byte first. */
export function drawingText(codes: Uint16Array): string {
  return decoder.decode(codes);
}
