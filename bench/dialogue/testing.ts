/** For tests: environments from texts, and dialogues with a model that follows a script. */
import { defaultsOf } from "../../configs/types/key_spec.ts";
import { MULTI_TURN } from "../../configs/schema/multi_turn_keys.ts";
import {
  type EnvironmentKeys,
  type OpenEnvironments,
  openEnvironments,
} from "../../rewards/environments/open_environments.ts";
import type { GenerateRequest } from "../../models/generation/types.ts";
import { createCharacterTokenizer } from "../../models/tokenizers/character_tokenizer.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { DEFAULT_PROMPT_SETTINGS } from "../evaluation/prompt_settings.ts";
import { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import type { Dialogue, DialogueSetup } from "./dialogue.ts";
import { playDialogues } from "./play_dialogues.ts";

const ALPHABET = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("") + "\n";

/** A tokenizer of characters without a chat template. */
export const CHARACTERS: Tokenizer = createCharacterTokenizer({
  alphabet: ALPHABET,
  special_tokens: ["<pad>", "<unk>", "<eos>"],
});

export const QUESTION: Entry = {
  question: "Begin.",
  answer: null,
  metadata: { source_dataset: "file", source_index: 3 },
};

export interface ScriptedGame {
  environment?: EnvironmentKeys["environment"];
  environments?: EnvironmentKeys["environments"];
  tools?: EnvironmentKeys["tools"];
  entry?: Entry;
  limits?: Partial<DialogueSetup["limits"]>;
  tokenizer?: Tokenizer;
  maxTokens?: number;
  maxPositions?: number;
  seed?: number;
}

/** The dialogues of one problem, one for each script: the texts that the model says. */
type Play = (
  scripts: readonly (readonly string[])[],
  game?: Omit<ScriptedGame, "environment" | "environments" | "tools">,
) => Promise<{ dialogues: Dialogue[]; requests: GenerateRequest[] }>;

/** Opens the environments of a game once for several problems. */
export async function withGame(
  game: ScriptedGame,
  work: (play: Play) => Promise<void>,
): Promise<void> {
  const environments = await openEnvironments({
    environment: game.environment ?? null,
    environments: game.environments ?? null,
    tools: game.tools ?? [],
  });
  try {
    await work((scripts, more) => playIn(environments!, scripts, { ...game, ...more }));
  } finally {
    await environments?.close();
  }
}

/** The dialogues of one problem with environments of its own. */
export async function playScripts(
  scripts: Parameters<Play>[0],
  game: ScriptedGame,
): ReturnType<Play> {
  let played: Awaited<ReturnType<Play>>;
  await withGame(game, async (play) => {
    played = await play(scripts);
  });
  return played!;
}

async function playIn(
  environments: OpenEnvironments,
  scripts: Parameters<Play>[0],
  game: ScriptedGame,
): ReturnType<Play> {
  const { tokenizer = CHARACTERS, maxTokens = 512, maxPositions = 4096, seed = 1 } = game;
  const eosIds = [tokenizer.eosId!], said = scripts.map(() => 0);
  const prompts = new PromptEncoder(
    tokenizer,
    { ...DEFAULT_PROMPT_SETTINGS, add_instructions: false },
    eosIds,
  );
  const requests: GenerateRequest[] = [];
  const [dialogues] = await playDialogues([{
    entry: game.entry ?? QUESTION,
    promptId: 0,
    branches: scripts.length,
  }], {
    environments,
    limits: {
      ...defaultsOf(MULTI_TURN),
      max_tool_calling_iterations: null,
      tool_timeout_s: 1,
      ...game.limits,
    },
    prompts,
    maxTokens,
    maxPositions,
    seed,
    generate: (_, play) =>
      play((request) => {
        requests.push(request);
        const { n, firstBranch = 0, sampling } = request;
        return Promise.resolve(Array.from({ length: n }, (_, i) => {
          const text = scripts[firstBranch + i]![said[firstBranch + i]!++] ?? "UNEXPECTED<eos>";
          const most = sampling?.maxNewTokens ?? maxTokens;
          const all = tokenizer.encode(text, { addSpecialTokens: false });
          const ids = all.slice(0, most);
          const finishReason = eosIds.includes(ids.at(-1)!) ? "stop" : "length";
          return { ids, logprobs: ids.map(() => -0.5), finishReason };
        }));
      }),
  });
  return { dialogues: dialogues!, requests };
}

/** Writes an environment; `parts` is the object that it exports. */
export async function writeEnvironment(
  folder: string,
  parts: string,
  name = "game.ts",
): Promise<{ path: string }> {
  const path = `${folder}/${name}`;
  await Deno.writeTextFile(path, `export default ${parts};\n`);
  return { path };
}
