/**
 * Writes `words.txt` from the list of the npm package `word-list` 4.1.0. It was run by hand, once:
 *
 *     npm pack word-list@4.1.0 && tar xzf word-list-4.1.0.tgz
 *     deno run -A tasks/assets/make_words.ts package/words.txt
 */
import { encodeWords, MAX_WORD_LENGTH, MIN_WORD_LENGTH } from "../text/words.ts";

const all = Deno.readTextFileSync(Deno.args[0]!).split("\n").filter((word) =>
  /^[a-z]+$/.test(word)
);
let text = "";
for (let length = MIN_WORD_LENGTH; length <= MAX_WORD_LENGTH; length++) {
  text += encodeWords(all.filter((word) => word.length === length).sort()) + "\n";
}
Deno.writeTextFileSync(new URL("./words.txt", import.meta.url), text);
