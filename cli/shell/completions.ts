/**
 * `rgx completions`: the scripts for the shells. They ask rgx itself for the candidates
 * (`complete.ts`), so they need no change when commands change. If rgx has no candidates, the shell
 * completes the names of files.
 */
import { print } from "../terminal/terminal.ts";
import bash from "./rgx.bash" with { type: "text" };
import fish from "./rgx.fish" with { type: "text" };
import zsh from "./rgx.zsh" with { type: "text" };

const SCRIPTS = { bash, zsh, fish } as const;

export function printCompletions(shell: keyof typeof SCRIPTS): void {
  print(SCRIPTS[shell].trimEnd());
}
