/** What a game has: how it begins, its moves, and when it is over. */

export interface Board<Position> {
  /** How a move is written. */
  how: string;
  start(metadata: Readonly<Record<string, unknown>>): Position;
  /**
   * Makes a move, which changes the position.
   * @returns the move in the form of the task's answer
   * @throws Illegal for a move that is not allowed
   */
  play(position: Position, move: string): string;
  show(position: Position): string;
  isOver(position: Position): boolean;
  /** The task's answer after these moves. */
  answer(moves: readonly string[], position: Position): string;
}

/** What is wrong with a move, for the model. */
export class Illegal extends Error {}
