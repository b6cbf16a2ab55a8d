/** How long an entry may be at a task's default parameters, in characters: what a prompt has to have room for. */

export const LONGEST_QUESTION = 12_000;
export const LONGEST_ANSWER = 24_000;
