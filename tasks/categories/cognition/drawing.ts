/**
 * Drawings made of characters, stored as character codes, which is fast to fill and to convert to
 * text.
 */

const LINE_END = 10;
const decoder = new TextDecoder("utf-16le");

/**
 * `height` lines with `width` equal characters and a line end each. Cell (x, y) is at y · (width +
 * 1) + x.
 */
export function blankDrawing(width: number, height: number, character: string): Uint16Array {
  const codes = new Uint16Array((width + 1) * height).fill(character.charCodeAt(0));
  for (let y = 0; y < height; y++) codes[y * (width + 1) + width] = LINE_END;
  return codes;
}

/** Converts to text. Every platform of Deno is little-endian. */
export function drawingText(codes: Uint16Array): string {
  return decoder.decode(codes);
}
