/** What the process of a user's code may take, and how it says that it took more. */

/** Maximum memory of the process, in bytes. */
export const MEMORY_LIMIT = 2 ** 30;
/** Exit code of a process that exceeded it. */
export const MEMORY_EXIT = 86;

/** A message of the process itself, in the list that a line holds: it cannot go on. */
export interface Ended {
  type: "ended";
  message: string;
}
