/**
 * Second tries, for the problems of any task: after a wrong answer, the model is told so and
 * answers again. The reward is the score of its last answer.
 */
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import type { Environment, EnvironmentCall, Reply, State } from "./environment.ts";

/** How often a problem may be answered. */
export const DEFAULT_TRIES = 2;

export function secondTries(tries = DEFAULT_TRIES): Environment {
  return {
    name: "second_tries",
    isSteady: true,
    open: () => Promise.resolve({ step: true, reward: false, tools: [] }),
    answer: (calls) => Promise.resolve(calls.map((call) => answer(call, tries))),
    close: () => Promise.resolve(),
  };
}

function answer(call: EnvironmentCall, tries: number): Reply {
  if (call.call === "reset") return reply("", { row: call.row, tries: 0 });
  if (call.call !== "step") throw new Error(`second_tries has no ${call.call}`);
  const { row, tries: before } = call.state as { row: Record<string, unknown>; tries: number };
  const { question, answer: expected, ...metadata } = row;
  const entry = { question: String(question), answer: expected as string | null, metadata };
  const { score } = scoreCompletion(call.message.content, entry);
  const state = { row, tries: before + 1 }, isRight = score >= CORRECT;
  const metrics = { [`correct_at_${before + 1}`]: isRight ? 1 : 0 };
  const isOver = isRight || before + 1 >= tries;
  if (isOver) return { ...reply("", state), reward: score, done: true, metrics };
  // A score between 0 and 1 tells the model how near its answer was.
  const near = score > 0 ? ` It scored ${Math.round(score * 100)} of 100.` : "";
  return { ...reply(`That is not right.${near} Try again.`, state), metrics };
}

function reply(content: string, state: State): Reply {
  return { content, state, reward: null, done: false, metrics: {} };
}
