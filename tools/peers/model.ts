/** What programs beside rgx need of a model: a folder of safetensors, and prompts. */
import { readModelFolder } from "../../models/model_folder.ts";

const ROOT = new URL("../../", import.meta.url);

/** Prompts with this number of tokens, from a text of the repository. */
export async function textPrompts(
  model: string,
  count: number,
  tokens: number,
): Promise<number[][]> {
  const { tokenizer } = await readModelFolder(model);
  const text = await Deno.readTextFile(new URL("ARCHITECTURE.md", ROOT));
  return Array.from(
    { length: count },
    (_, i) => tokenizer!.encode(text.slice(1000 + 2000 * i)).slice(0, tokens),
  );
}

/** Writes a model as a folder that transformers reads. @throws Error */
export async function convertModel(model: string, output: string): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", "convert", model, "--output", output],
    ...{ cwd: ROOT, stdout: "null", stderr: "inherit" },
  }).output();
  if (!success) throw new Error("the model was not converted");
}
