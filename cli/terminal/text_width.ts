/**
 * The number of columns that a text takes on a terminal. Ideographs, kana, hangul and emoji take
 * two; combining marks take none. Sequences that join several emoji into one are not handled:
 * terminals disagree about them.
 */

const WIDE_SCRIPTS =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff]/u;
const WIDE_FORMS = /[\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const EMOJI = /\p{Emoji_Presentation}/u;
const NONE = /\p{Mn}|\p{Me}|\p{Cf}/u;

export function textWidth(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** The longest beginning of a text that takes at most `width` columns. */
export function beginning(text: string, width: number): string {
  if (isPlain(text)) return text.slice(0, Math.max(0, width));
  let taken = 0, end = 0;
  for (const character of text) {
    taken += widthOf(character);
    if (taken > width) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Whether each character takes one column. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

function widthOf(character: string): number {
  if (WIDE_SCRIPTS.test(character) || WIDE_FORMS.test(character)) return 2;
  if (EMOJI.test(character)) return 2;
  return NONE.test(character) ? 0 : 1;
}
