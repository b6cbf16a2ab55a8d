/** The inputs of other programs: a model as a folder of safetensors, and prompts. */
import { readModelFolder } from "../../models/model_folder.ts";

const ROOT = new URL("../../", import.meta.url);

/** A story, because a small model may know only the words of such stories. */
const STORY =
  "Once upon a time, there was a little girl named Lily. She lived in a small house with her mom " +
  "and her dog, Spot. One day, Lily and Spot went to the park to play with a big red ball. " +
  "The sun was warm and the birds sang in the trees. Lily threw the ball and Spot ran to get it. " +
  "Then they saw a boy who was sad because he had lost his toy car. Lily said, I can help you. " +
  "They looked under the tree and near the lake. Spot found the car in the tall grass. " +
  "The boy was very happy and they all played together until it was time to go home.";

/** Prompts with this number of tokens, from a story; each begins with another sentence. */
export async function storyPrompts(
  model: string,
  count: number,
  tokens: number,
): Promise<number[][]> {
  const { tokenizer } = await readModelFolder(model), sentences = STORY.split(/(?<=\.) /);
  return Array.from(
    { length: count },
    (_, i) => tokenizer!.encode(sentences.slice(i).join(" ")).slice(0, tokens),
  );
}

/** Writes a model as a folder that transformers reads. @throws Error */
export async function convertModel(model: string, output: string): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", "convert", model, "--output", output],
    cwd: ROOT,
    stdout: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the model was not converted");
}
