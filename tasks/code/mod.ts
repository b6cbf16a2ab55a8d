/** The code tasks, one line each, named as the task. */
export {};
