/**
 * Writes `ladder.txt` from a CSV with the columns 3_letter, 4_letter, 5_letter of upper-case words.
 * It was run by hand, once: `deno run -A tasks/assets/make_ladder.ts ladder.csv`
 */
import { encodeWords } from "../text/words.ts";

const rows = Deno.readTextFileSync(Deno.args[0]!).split(/\r?\n/).slice(1).map((line) =>
  line.split(",")
);
let text = "";
for (let column = 0; column < 3; column++) {
  const words = rows.map((row) => (row[column] ?? "").toLowerCase()).filter((word) => word !== "");
  text += encodeWords(words.sort()) + "\n";
}
Deno.writeTextFileSync(new URL("./ladder.txt", import.meta.url), text);
