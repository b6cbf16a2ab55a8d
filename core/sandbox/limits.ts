/** The memory limit of a user's process, and how the process reports that it took more. */

/** Maximum memory of the process, in bytes. */
export const MEMORY_LIMIT = 2 ** 30;
export const MEMORY_EXIT = 86;

/** A message of the process itself, in a line's list of messages: it cannot continue. */
export interface Ended {
  type: "ended";
  message: string;
}
