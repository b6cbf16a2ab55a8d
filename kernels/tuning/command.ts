/** The hidden command of the process that measures kernels (worker.ts). */
export const TUNE_COMMAND = "__tune";
