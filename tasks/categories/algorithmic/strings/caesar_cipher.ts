/**
 * Decrypt a Caesar cipher with an unknown rotation. Half of the sentences are from the story and
 * half are generated. All are generated when the story has no sentence of that length.
 */
import { counts, defineTask, exactScore, type RandomStream, sizes, text } from "../../../define.ts";
import { words } from "../../../python/text.ts";
import { makeSentence } from "../../../text/sentences.ts";
import { story } from "../../../text/story.ts";
import { once } from "../../../once.ts";

export default defineTask({
  description: "Decrypt a Caesar cipher.",
  ...exactScore("the text"),
  params: {
    delimiter: text(".", "what ends a sentence of the story"),
    rotation: sizes([1, 25], "rotation", { min: 1, max: 25, spans: [5, 15, 25, 50] }),
    words: counts([3, 20], "words", { min: 1, spans: [5, 15, 25, 50] }),
  },
  generate(random, config) {
    const { delimiter, min_words, max_words, min_rotation, max_rotation } = config;
    const fromStory = storyTexts(delimiter, min_words, max_words);
    const clear = fromStory.length > 0 && random.chance(0.5)
      ? random.choice(fromStory)
      : madeText(random, random.int(min_words, max_words));
    const rotation = random.int(min_rotation, max_rotation);
    const cipher = rotate(clear, rotation);
    return {
      question:
        "This text is encrypted with a Caesar cipher: every letter was replaced by the one that " +
        "comes a fixed number of places later in the alphabet, where A follows Z.\n" +
        `${cipher}\nAnswer with the decrypted text only, in capital letters with single spaces.`,
      answer: clear,
      metadata: {
        rotation,
        cipher_text: cipher,
        clear_text: clear,
        num_words: clear.split(" ").length,
      },
      difficulty: { words: [min_words, max_words], rotation: [min_rotation, max_rotation] },
    };
  },
});

/**
 * The words of each story sentence in capitals, without words that touch a punctuation mark.
 */
const sentencesOf = once((delimiter: string) =>
  story().split(delimiter).map((sentence) =>
    words(sentence.toUpperCase()).filter((word) => /^[A-Z]+$/.test(word))
  )
);

const storyTexts = once((delimiter: string, min: number, max: number) =>
  sentencesOf(delimiter).filter(({ length }) => length >= min && length <= max)
    .map((sentence) => sentence.join(" "))
);

function madeText(random: RandomStream, count: number): string {
  return makeSentence(random, count).toUpperCase().replace(/[^A-Z ]/g, "");
}

function rotate(text: string, rotation: number): string {
  const codes = new Uint8Array(text.length);
  for (let i = 0; i < codes.length; i++) {
    const code = text.charCodeAt(i);
    codes[i] = code === 32 ? code : (code - 65 + rotation) % 26 + 65;
  }
  return decoder.decode(codes);
}

const decoder = new TextDecoder();
