/**
 * Lists of words that were written for this project (`assets/lists.txt`): a line for each, with its
 * name, a colon, and the words with bars between them. The file is read when the first is needed.
 */
import { readAsset } from "../asset.ts";

let lists: Map<string, readonly string[]> | undefined;

/** The list with this name in the file. */
export function wordList(name: string): readonly string[] {
  lists ??= new Map(
    readAsset("lists.txt").trimEnd().split("\n").map((line) => {
      const [name, words] = line.split(": ") as [string, string];
      return [name, words.split("|")];
    }),
  );
  return lists.get(name)!;
}
