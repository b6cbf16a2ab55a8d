/**
 * The story: about 1 800 words written for this project (`assets/story.txt`), from which tasks take
 * words and sentences. It contains plain letters only (no quotation marks, apostrophes, digits or
 * dashes), so that `\w+` finds exactly its words and a full stop ends every sentence.
 */
import { readAsset } from "../asset.ts";

let text: string | undefined, words: string[] | undefined;

export function story(): string {
  return text ??= readAsset("story.txt");
}

/** All words of the story, in order. */
export function storyWords(): readonly string[] {
  return words ??= story().match(/\w+/g)!;
}

/** For `validate`: a text of the story cannot have more words than the story. */
export function storyWordErrors(max_words: number): string[] {
  const available = storyWords().length;
  return max_words <= available
    ? []
    : [`max_words: the built-in text has ${available} words, found max_words = ${max_words}`];
}
