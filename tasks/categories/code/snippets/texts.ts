/** The reference functions on texts, with their descriptions and inputs. */
import { letters, type Snippet } from "./snippet.ts";
import { wordList } from "../../../text/lists.ts";
import * as code from "./texts_functions.js";

export const TEXT_SNIPPETS: readonly Snippet[] = [
  {
    run: code.countLetter,
    level: 1,
    purpose: "Counts a letter in a text and finds its last place.",
    input: "text, and letter, one letter",
    output: "count, and last, the last place counted from 0 (-1 when the letter does not occur)",
    draw: (random) => ({
      text: letters(random, [10, 24], "abcde"),
      letter: letters(random, [1, 1], "abcde"),
    }),
  },
  {
    run: code.turnWords,
    level: 2,
    purpose: "Turns every word of a sentence around and leaves the words in their order.",
    input: "sentence, words with a space between",
    output: "turned, the new sentence",
    reversible: true,
    draw: (random) => ({
      sentence: random.sample(wordList("codeio_words"), random.int(3, 6)).join(" "),
    }),
  },
  {
    run: code.commonestWord,
    level: 3,
    purpose: "Finds the commonest word; of several the one that comes first.",
    input: "words, a list of words",
    output: "word, how often it occurs (count), and how many different words there are",
    draw: (random) => {
      const some = random.sample(wordList("codeio_words"), random.int(4, 7));
      return { words: Array.from({ length: random.int(8, 14) }, () => random.choice(some)) };
    },
  },
  {
    run: code.runLengths,
    level: 3,
    purpose: "Writes each run of equal letters as the letter and its length.",
    input: "text, made of small letters",
    output: "coded, such as a3b1 for aaab",
    reversible: true,
    draw(random) {
      let text = "";
      for (let runs = random.int(4, 8); runs > 0; runs--) {
        text += letters(random, [1, 1], "abcdexyz").repeat(random.int(1, 5));
      }
      return { text };
    },
  },
  {
    run: code.growingShift,
    level: 4,
    purpose:
      "Moves the first letter 1 place on in the alphabet, the second 2 places, and so on; a " +
      "follows z.",
    input: "text, made of small letters",
    output: "coded, the new text",
    reversible: true,
    draw: (random) => ({ text: letters(random, [6, 12]) }),
  },
  {
    run: code.bracketDepth,
    level: 4,
    purpose: "Measures how deep brackets nest and tells whether they match.",
    input: "text, made of round brackets",
    output: "deepest, open (opening brackets less closing ones), and balanced, true or false",
    draw(random) {
      let text = "", open = 0;
      for (let left = random.int(8, 20); left > 0; left--) {
        const opening = open === 0 || random.chance(0.55);
        open += opening ? 1 : -1;
        text += opening ? "(" : ")";
      }
      return { text: random.chance(0.5) ? text + ")".repeat(open) : text };
    },
  },
  {
    run: code.groupAnagrams,
    level: 5,
    purpose: "Puts words with the same letters together.",
    input: "words, a list of words",
    output: "groups, a list of lists, in the order of their first words",
    draw: (random) => ({ words: random.sample(wordList("codeio_words"), random.int(7, 12)) }),
  },
  {
    run: code.lookAndSay,
    level: 6,
    purpose:
      "Reads digits aloud (21 is one 2 and one 1, so 1211) and repeats that with the result.",
    input: "digits, a text of digits, and rounds, how often",
    output: "digits, the last text, and its length",
    draw: (random) => ({ digits: letters(random, [2, 4], "1234"), rounds: random.int(2, 4) }),
  },
  {
    run: code.zigzag,
    level: 6,
    purpose: "Writes a text down and up in a zigzag over several rows and reads it row by row.",
    input: "text, made of small letters, and rows, at least 2",
    output: "rows, and coded, the new text",
    reversible: true,
    draw: (random) => ({ text: letters(random, [8, 16]), rows: random.int(2, 5) }),
  },
  {
    run: code.editDistance,
    level: 7,
    purpose:
      "Counts the letters that must be changed, added or left out to turn one text into the other.",
    input: "from and to, two texts",
    output: "distance, and shared, the letters of both texts together less the distance",
    draw: (random) => ({
      from: letters(random, [4, 9], "abcd"),
      to: letters(random, [4, 9], "abcd"),
    }),
  },
  {
    run: code.moveToFront,
    level: 7,
    purpose:
      "Replaces each letter by its place on a shelf of all letters and then moves it to the front.",
    input: "text, made of small letters",
    output: "codes, the list of places counted from 0",
    reversible: true,
    draw: (random) => ({ text: letters(random, [5, 9], letters(random, [4, 6])) }),
  },
  {
    run: code.sortedRotations,
    level: 9,
    purpose:
      "Marks the end of a text with $, sorts all its rotations ($ comes before the letters) and " +
      "takes their last characters.",
    input: "text, made of small letters",
    output: "coded, the last characters in the order of the rotations",
    reversible: true,
    draw: (random) => ({ text: letters(random, [5, 9], "abcn") }),
  },
  {
    run: code.codeLengths,
    level: 10,
    purpose:
      "Finds how many bits each letter of a text gets in a Huffman code, and how many all have " +
      "together.",
    input: "text, made of small letters",
    output: "lengths, the bits of each letter, and bits, those of the whole text",
    draw(random) {
      const weights = [..."abcdef"].slice(0, random.int(4, 6));
      const text = weights.map((letter) => letter.repeat(random.int(1, 9))).join("");
      return { text: random.shuffle([...text]).join("") };
    },
  },
  {
    run: code.dictionaryPairs,
    level: 10,
    purpose:
      "Cuts a text into pieces, each a piece that came before plus one letter, and writes each " +
      "as the number of the earlier piece (0 for none) and the letter.",
    input: "text, made of small letters",
    output: "pairs, a list of [number, letter]; a last piece that is not new has an empty letter",
    reversible: true,
    draw: (random) => ({ text: letters(random, [9, 16], "ab" + letters(random, [1, 1], "cd")) }),
  },
];
