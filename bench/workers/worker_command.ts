/** The hidden command that runs a worker of a benchmark; alone in a file, because the command line names it at every start. */
export const WORKER_COMMAND = "bench-worker";
