/** The algebra tasks, one line each, named as the task. */
export {};
