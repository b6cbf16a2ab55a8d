/** The characters that byte-level tokenizers write for bytes. */

/** The character of each byte: the byte's own where that can be seen, else one from U+0100 on. */
const BYTE_CHARACTERS: readonly string[] = (() => {
  const isVisible = (byte: number) =>
    byte > 0x20 && byte < 0x7f || byte > 0xa0 && byte < 0x100 && byte !== 0xad;
  let next = 0x100;
  return Array.from(
    { length: 256 },
    (_, byte) => String.fromCharCode(isVisible(byte) ? byte : next++),
  );
})();

/** By code unit: the byte that it stands for; −1 for units that stand for none. */
const BYTE_OF_UNIT = (() => {
  const bytes = new Int16Array(0x200).fill(-1);
  BYTE_CHARACTERS.forEach((character, byte) => bytes[character.charCodeAt(0)] = byte);
  return bytes;
})();

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text, a character for each. */
export function toByteCharacters(text: string): string {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return ofBytes(encoder.encode(text));
    out += BYTE_CHARACTERS[unit]!;
  }
  return out;
}

function ofBytes(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += BYTE_CHARACTERS[byte]!;
  return out;
}

/**
 * Appends the bytes of a token. A token with a character that stands for no byte is ordinary text:
 * its bytes are those of its UTF-8.
 */
export function pushTokenBytes(token: string, bytes: number[]): void {
  const start = bytes.length;
  for (let i = 0; i < token.length; i++) {
    const byte = BYTE_OF_UNIT[token.charCodeAt(i)] ?? -1;
    if (byte < 0) {
      bytes.length = start;
      for (const one of encoder.encode(token)) bytes.push(one);
      return;
    }
    bytes.push(byte);
  }
}
