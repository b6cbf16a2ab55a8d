/** The tasks of the category games. Each is exported under its task name. */
export { default as boxnet } from "./boxnet.ts";
export { default as countdown } from "./countdown.ts";
export { default as emoji_mystery } from "./emoji_mystery.ts";
export { default as futoshiki } from "./futoshiki.ts";
export { default as kakurasu } from "./kakurasu.ts";
export { default as knight_swap } from "./knight_swap.ts";
export { default as mahjong_puzzle } from "./mahjong_puzzle.ts";
export { default as maze } from "./maze.ts";
export { default as n_queens } from "./n_queens.ts";
export { default as puzzle24 } from "./puzzle24.ts";
export { default as rush_hour } from "./rush_hour.ts";
export { default as sokoban } from "./sokoban.ts";
export { mini_sudoku, sudoku } from "./sudoku.ts";
export { default as survo } from "./survo.ts";
export { default as tower_of_hanoi } from "./tower_of_hanoi.ts";
export { default as tsumego } from "./tsumego.ts";
