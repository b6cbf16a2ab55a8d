/**
 * Tasks that have a board, played move by move: each message of the model is one move, and the
 * environment shows the board after it, or says what is wrong with the move. What is judged in the
 * end is the answer that all moves make, by the task's own rule.
 */
import { messageOf, UsageError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { extractAnswer } from "../../../data/extract.ts";
import { FILE_SOURCE, scoreCompletion } from "../../../data/score_completion.ts";
import { createDataset } from "../../../tasks/dataset.ts";
import type { Entry } from "../../../tasks/types.ts";
import { type Board, Illegal } from "./board.ts";
import type { Environment, EnvironmentCall, Reply, State } from "../environment.ts";

/** The tasks that can be played, which are the names of the environments. */
export const BOARD_NAMES: readonly string[] = [
  "tower_of_hanoi",
  "sokoban",
  "rush_hour",
  "maze",
  "mini_sudoku",
  "sudoku",
  "knight_swap",
  "n_queens",
  "word_ladder",
  "countdown",
];

interface Game {
  entry: Entry;
  moves: string[];
  illegal: number;
}

export function isGame(name: string | undefined): boolean {
  return name !== undefined && BOARD_NAMES.includes(name);
}

/** The environment of a task of {@link BOARD_NAMES}, which is its name. */
export function boardEnvironment(name: string): Environment {
  return {
    name,
    isSteady: true,
    open: () => Promise.resolve({ step: true, reward: true, tools: [] }),
    async answer(calls) {
      const board = (await import("./boards.ts")).BOARDS[name]!;
      return calls.map((call) => {
        try {
          return answer(name, board, call);
        } catch (error) {
          return { error: messageOf(error) };
        }
      });
    },
    close: () => Promise.resolve(),
  };
}

function answer(name: string, board: Board<unknown>, call: EnvironmentCall): Reply {
  if (call.call === "run") throw new Error(`${name} has no tools`);
  if (call.call === "reset") {
    const { entry, isOwn } = entryOf(name, call.row, call.seed);
    const how = `\n\nPlay it move by move: each message is one move, ${board.how}. You are shown ` +
      "what it leads to. All moves together are your answer.";
    const game: Game = { entry, moves: [], illegal: 0 };
    return reply(game, { content: (isOwn ? entry.question : "") + how });
  }
  const { entry, moves, illegal } = call.state as unknown as Game;
  const position = board.start(entry.metadata);
  for (const move of moves) board.play(position, move);
  const judgedOf = (all: readonly string[]) => `<answer>${board.answer(all, position)}</answer>`;
  // Before the next move: one that is not allowed may have changed the position in part.
  const judged = judgedOf(moves);
  if (call.call === "reward") {
    const isOver = board.isOver(position);
    const metrics = { solved: isOver ? 1 : 0, moves: moves.length, illegal_moves: illegal };
    const { score } = scoreCompletion(judged, entry);
    return reply({ entry, moves, illegal }, { reward: score, metrics });
  }
  const { content } = call.message;
  const written = (extractAnswer(content) ?? content.trim().split("\n").at(-1)!).trim();
  try {
    const made = [...moves, board.play(position, written)], done = board.isOver(position);
    const content = done ? "" : board.show(position);
    return reply({ entry, moves: made, illegal }, { content, done, judged: judgedOf(made) });
  } catch (error) {
    if (!(error instanceof Illegal)) throw error;
    const content = `That is not allowed: ${error.message}. Try another move.`;
    return reply({ entry, moves, illegal: illegal + 1 }, { content, judged });
  }
}

function reply(game: Game, given: Partial<Reply>): Reply {
  const state = game as unknown as State;
  return { content: "", reward: null, done: false, metrics: {}, ...given, state };
}

/** The row's problem; without one, the problem of the task that the seed draws. */
function entryOf(
  name: string,
  row: Readonly<Record<string, unknown>>,
  seed: number,
): { entry: Entry; isOwn: boolean } {
  const { question, answer = null, messages: _, ...rest } = row;
  // Rows that the command line writes have their metadata in an object of their own.
  const metadata = isRecord(rest["metadata"]) ? rest["metadata"] : rest;
  const { source_dataset: task = FILE_SOURCE } = metadata;
  if (task === name) {
    return {
      entry: { question: String(question), answer: answer as string | null, metadata },
      isOwn: false,
    };
  }
  if (question === undefined) {
    return { entry: createDataset(name, { seed }).entry(0), isOwn: true };
  }
  throw new UsageError(`${name} plays problems of the task ${name}, found another: ${task}`);
}
