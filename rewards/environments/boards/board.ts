/** What a game has: how it begins, its moves, and when it is over. */

export interface Board<Position> {
  /** How a move is written. */
  how: string;
  start(metadata: Readonly<Record<string, unknown>>): Position;
  /** Changes the position. @returns the move as the task's answer has it @throws Illegal */
  play(position: Position, move: string): string;
  show(position: Position): string;
  isOver(position: Position): boolean;
  answer(moves: readonly string[], position: Position): string;
}

/** What is wrong with a move, for the model. */
export class Illegal extends Error {}
