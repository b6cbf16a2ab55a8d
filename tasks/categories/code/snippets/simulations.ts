/** The reference functions that simulate a process, with their descriptions and inputs. */
import * as code from "./simulations_functions.js";
import { distinctNumbers, letters, numbers, picture, type Snippet } from "./snippet.ts";

export const SIMULATION_SNIPPETS: readonly Snippet[] = [
  {
    run: code.countFloors,
    level: 1,
    purpose: "Moves a lift by one floor for every button.",
    input: "start, a floor, and buttons, a list of up and down",
    output: "floor, where it stops, and highest, the highest floor on the way",
    draw: (random) => ({
      start: random.int(-5, 20),
      buttons: Array.from({ length: random.int(5, 12) }, () => random.chance(0.5) ? "up" : "down"),
    }),
  },
  {
    run: code.switchLamps,
    level: 3,
    purpose: "Switches lamps on (1) and off (0); each press changes one lamp.",
    input: "lamps, a list of 0 and 1, and presses, a list of places counted from 0",
    output: "presses as given, and state, the lamps afterwards",
    reversible: true,
    draw(random) {
      const lamps = numbers(random, [5, 9], [0, 1]);
      return { lamps, presses: numbers(random, [4, 8], [0, lamps.length - 1]) };
    },
  },
  {
    run: code.keepAccount,
    level: 3,
    purpose:
      "Books payments one after the other and refuses those that would make the balance negative.",
    input: "balance, and moves, a list of whole numbers (negative ones are withdrawals)",
    output: "balance at the end, and refused, the list of refused payments",
    draw: (random) => ({ balance: random.int(0, 120), moves: numbers(random, [6, 10], [-80, 60]) }),
  },
  {
    run: code.walkRobot,
    level: 5,
    purpose:
      "Walks a robot over a floor: F is a step ahead, R and L are turns. It starts at 0, 0, " +
      "facing north (larger y), and stays where a step would leave the floor.",
    input: "commands, a text, width and height of the floor",
    output:
      "x and y at the end, facing (N, E, S or W), and bumps, the steps that were not possible",
    draw: (random) => ({
      commands: letters(random, [10, 18], "FFFRL"),
      width: random.int(3, 6),
      height: random.int(3, 6),
    }),
  },
  {
    run: code.runStack,
    level: 6,
    purpose:
      "Runs a program for a stack: numbers are put on it, dup repeats the top, swap exchanges " +
      "the two at the top, add and mul take two and put back the result, mul only its last three " +
      "digits.",
    input: "program, a list of words",
    output: "stack, from the bottom to the top",
    draw(random) {
      const program: string[] = [];
      let depth = 0;
      for (let left = random.int(8, 12); left > 0; left--) {
        const word = depth < 2 ? String(random.int(1, 9)) : random.choice([
          "dup",
          "swap",
          "add",
          "mul",
          String(random.int(1, 9)),
          String(random.int(1, 9)),
        ]);
        depth += word === "add" || word === "mul" ? -1 : word === "swap" ? 0 : 1;
        program.push(word);
      }
      return { program };
    },
  },
  {
    run: code.playLife,
    level: 7,
    purpose:
      "Plays the Game of Life on a picture: a cell (#) lives on with two or three neighbours out " +
      "of eight, an empty one (.) comes to life with three. Nothing lives outside.",
    input: "rows, a list of texts, and rounds",
    output: "rows afterwards",
    draw: (random) => ({
      rows: picture(random, random.int(4, 5), random.int(4, 6), 0.4),
      rounds: random.int(1, 2),
    }),
  },
  {
    run: code.serveQueue,
    level: 7,
    purpose: "Serves customers in the order of their arrival at the counter that is free first.",
    input:
      "arrivals in ascending order, durations of the service, and counters, how many there are",
    output: "waited, the sum of all waiting times, the longest one, and end, when all are served",
    draw(random) {
      const arrivals = numbers(random, [5, 8], [0, 20]).sort((a, b) => a - b);
      return {
        arrivals,
        durations: arrivals.map(() => random.int(2, 9)),
        counters: random.int(1, 3),
      };
    },
  },
  {
    run: code.fallSand,
    level: 7,
    purpose:
      "Lets grains fall on columns; each rolls down to a lower neighbour, to the left first, as " +
      "long as there is one.",
    input: "columns, a list of heights, and drops, the places counted from 0",
    output: "height of each column afterwards, and top, the highest",
    draw(random) {
      const columns = numbers(random, [5, 7], [0, 4]);
      return { columns, drops: numbers(random, [4, 8], [0, columns.length - 1]) };
    },
  },
  {
    run: code.countIslands,
    level: 8,
    purpose:
      "Counts the islands of a map (# is land; land that touches above, below, left or right " +
      "belongs together) and measures them.",
    input: "rows, a list of texts",
    output: "islands, and sizes, the numbers of land cells with the largest first",
    draw: (random) => ({ rows: picture(random, random.int(4, 6), random.int(5, 7), 0.45) }),
  },
  {
    run: code.stepRegister,
    level: 8,
    purpose:
      "Steps a shift register: the bits at the taps are combined by exclusive or, the result " +
      "comes in at the left and the last bit goes out at the right.",
    input: "bits, a text of 0 and 1, taps, a list of places counted from 0, and steps",
    output: "output, the bits that went out, and register, the bits inside",
    draw(random) {
      const bits = letters(random, [5, 8], "01");
      return {
        bits,
        taps: distinctNumbers(random, random.int(2, 3), [0, bits.length - 1]),
        steps: random.int(5, 10),
      };
    },
  },
  {
    run: code.useCache,
    level: 9,
    purpose: "Keeps the things that were asked for last, as many as there is room for.",
    input: "room, and requests, a list of letters",
    output:
      "hits, misses (the requests that were not kept), and kept, from the oldest use to the newest",
    draw: (random) => ({
      room: random.int(2, 4),
      requests: [...letters(random, [9, 14], "ABCDEF")],
    }),
  },
  {
    run: code.walkAnt,
    level: 10,
    purpose:
      "Walks Langton's ant over a white board whose edges meet: on a white cell it turns right " +
      "and makes the cell black, on a black one it turns left and makes it white; then it goes a " +
      "step ahead.",
    input: "size, the number of rows and of columns, and steps",
    output:
      "row and column at the end, facing (0 up, 1 right, 2 down, 3 left), and black, how many " +
      "cells are",
    draw: (random) => ({ size: random.int(3, 9), steps: random.int(8, 40) }),
  },
];
