/**
 * The hidden command that runs a worker of a benchmark. It has a file of its own because the
 * command line loads it at every start.
 */
export const WORKER_COMMAND = "bench-worker";
