/** Tasks that are played move by move: their own answers win, and wrong moves are explained. */
import assert from "node:assert/strict";
import { rowOf } from "../../../bench/dialogue/play_dialogues.ts";
import { playScripts } from "../../../bench/dialogue/testing.ts";
import { load } from "../../../configs/testing.ts";
import { createDataset } from "../../../tasks/dataset.ts";
import type { Entry } from "../../../tasks/types.ts";
import type { Reply, State } from "../environment.ts";
import { Illegal } from "./board.ts";
import { BOARD_NAMES, boardEnvironment } from "./board_environment.ts";
import { BOARDS } from "./boards.ts";

type Values = Record<string, never>;

/** A shortest list of moves that ends the game, tried in the order of `moves`. */
function search(name: string, { metadata }: Entry, moves: (shown: string) => string[]): string[] {
  const board = BOARDS[name]!, seen = new Set<string>();
  for (let lists: string[][] = [[]]; lists.length > 0;) {
    const next: string[][] = [];
    for (const list of lists) {
      const at = () => {
        const position = board.start(metadata);
        for (const move of list) board.play(position, move);
        return position;
      };
      for (const move of moves(board.show(at()))) {
        const position = at();
        try {
          board.play(position, move);
        } catch (error) {
          if (error instanceof Illegal) continue;
          throw error;
        }
        if (board.isOver(position)) return [...list, move];
        const shown = board.show(position);
        if (!seen.has(shown)) next.push([...list, move]);
        seen.add(shown);
      }
    }
    lists = next;
  }
  throw new Error(`${name}: not solved`);
}

const cells = (
  now: unknown,
  end: unknown,
  empty: unknown,
  move: (at: string, v: unknown) => string,
) =>
  (now as unknown[][]).flatMap((row, i) =>
    row.flatMap((cell, k) => {
      const value = (end as unknown[][])[i]![k];
      return cell === empty && value !== empty ? [move(`${i + 1} ${k + 1}`, value)] : [];
    })
  );
const digits = ({ metadata: { puzzle, solution } }: Entry) =>
  cells(puzzle, solution, 0, (at, digit) => `${at} ${digit}`);

/** A task's parameters, moves that solve its problem, a wrong move, and what is said about it. */
const GAMES: Record<
  string,
  [params: object, solve: (entry: Entry) => string[], wrong: string, says: RegExp]
> = {
  tower_of_hanoi: [
    { max_disks: 4 },
    ({ answer }) => answer!.split("\n"),
    "Move disk 2 from Peg 1 to Peg 9",
    /there are Peg 1 to Peg/,
  ],
  sokoban: [{}, ({ answer }) => [...answer!], "X", /a move is one of the letters U/],
  rush_hour: [
    { min_moves: 1, max_moves: 2 },
    (entry) =>
      search(
        "rush_hour",
        entry,
        () =>
          [..."ABCDEFGHIJKLM"].flatMap((letter) =>
            ["+1", "+2", "+3", "+4", "-1", "-2", "-3", "-4"].map((by) => letter + by)
          ),
      ),
    "Z+1",
    /no vehicle Z/,
  ],
  maze: [{}, (entry) => search("maze", entry, () => [..."UDLR"]), "north", /a move is one of/],
  mini_sudoku: [{}, digits, "1 1 7", /digits are 1 to 4|was given/],
  sudoku: [{}, digits, "0 1 1", /rows and columns are 1 to 9/],
  knight_swap: [
    { impossible_ratio: 0.5 },
    ({ metadata: { is_possible, solution } }) =>
      is_possible ? (solution as string[][]).map(String) : ["No"],
    "w,A1,A1",
    /it is the turn of B|no w on A1|no knight's move/,
  ],
  n_queens: [
    {},
    ({ metadata: { puzzle, solutions } }) =>
      cells(puzzle, (solutions as unknown[])[0], "_", (at) => at),
    "9 9",
    /rows and columns are 1 to 8/,
  ],
  word_ladder: [{}, ({ answer }) => answer!.split(",").slice(1), "ZZZZ", /does not differ from/],
  countdown: [
    { min_numbers: 3, max_numbers: 3 },
    (entry) => {
      const target = `are now ${entry.metadata["target"]};`, board = BOARDS["countdown"]!;
      const pairs = (shown: string) => {
        const left = /now (.*);/.exec(shown)![1]!.split(", ");
        return left.flatMap((a, i) =>
          left.flatMap((b, k) => i === k ? [] : [..."+-*/"].map((sign) => `${a} ${sign} ${b}`))
        );
      };
      const shownAfter = (moves: string[]) => {
        const position = board.start(entry.metadata);
        try {
          for (const move of moves) board.play(position, move);
        } catch {
          return "";
        }
        return board.show(position);
      };
      const first = pairs(shownAfter([]));
      const all = first.flatMap((move) =>
        shownAfter([move]) === "" ? [] : pairs(shownAfter([move])).map((next) => [move, next])
      );
      return all.find((moves) => shownAfter(moves).includes(target))!;
    },
    "1 + 1",
    /is not among the numbers/,
  ],
};

Deno.test("each game is won by the task's answer, and a wrong move is explained", async () => {
  assert.deepEqual(Object.keys(GAMES).sort(), [...BOARD_NAMES].sort());
  for (const [name, [params, solve, wrong, says]] of Object.entries(GAMES)) {
    const environment = boardEnvironment(name);
    const ask = async (...calls: Parameters<typeof environment.answer>[0]) => {
      const [reply] = await environment.answer(calls, 1);
      assert.ok(!("error" in reply!), `${name}: ${JSON.stringify(reply)}`);
      return JSON.parse(JSON.stringify(reply)) as Reply;
    };
    const dataset = createDataset(name, { size: 4, seed: 5, ...params as Values });
    for (const entry of dataset) {
      const row = JSON.parse(JSON.stringify(rowOf(entry)));
      const start = await ask({ call: "reset", row, seed: 0, example: 0 });
      assert.match(start.content, /^\n\nPlay it move by move/);
      let state: State = start.state;
      const say = async (content: string) => {
        const reply = await ask({ call: "step", message: { role: "assistant", content }, state });
        state = reply.state;
        return reply;
      };
      const refused = await say(`Let me see.\n${wrong}`);
      assert.match(refused.content, says, name);
      assert.equal(refused.done, false);
      const moves = solve(entry);
      let last = refused, played = 0;
      // The answer of sokoban may go on after its end.
      while (!last.done) {
        const move = moves[played++]!;
        last = await say(played % 2 === 0 ? move : `So:\n<answer>${move}</answer>`);
      }
      const end = await ask({ call: "reward", state });
      assert.equal(end.reward, 1, `${name}: ${last.judged}`);
      assert.deepEqual(end.metrics, { solved: 1, moves: played, illegal_moves: 1 });
    }
    // Without a row, the seed makes the problem.
    const own = await ask({ call: "reset", row: {}, seed: 3, example: 0 });
    assert.ok(own.content.startsWith(createDataset(name, { seed: 3 }).entry(0).question), name);
    const other = rowOf(createDataset("chain_sum", { seed: 1 }).entry(0));
    const [error] = await environment.answer(
      [{ call: "reset", row: other, seed: 0, example: 0 }],
      1,
    );
    assert.match((error as { error: string }).error, /plays problems of the task .*chain_sum/);
  }
});

Deno.test("all moves of a dialogue are judged as the answer, also where a limit ends it", async () => {
  const entry = createDataset("word_ladder", { size: 1, seed: 5 }).entry(0);
  const words = entry.answer!.split(",");
  const { dialogues: [whole, cut] } = await playScripts(
    [words.slice(1), ["zzzz", words[1]!]].map((said) => said.map((word) => `${word}<eos>`)),
    {
      entry,
      environment: { name: "word_ladder" },
      limits: { max_assistant_turns: words.length - 1 },
    },
  );
  assert.equal(whole!.text, `<answer>${entry.answer}</answer>`);
  assert.deepEqual([whole!.about.stop, whole!.reward], ["done", 1]);
  assert.equal(cut!.text, `<answer>${words.slice(0, 2)}</answer>`);
  assert.equal(cut!.reward, 0);
});

Deno.test("the name of a game alone has the problems of its task", async () => {
  const { config } = await load("model: m\nenvironment: countdown\n");
  assert.deepEqual([config.data.task_name, config.data.add_instructions], ["countdown", true]);
  const of = async (lines: string) => (await load(`model: m\n${lines}`)).config.data.task_config;
  assert.equal((await of("environment: sokoban\ntask_config: {max_boxes: 5}\n"))!["max_boxes"], 5);
});
