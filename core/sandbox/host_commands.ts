/** The executable's hidden commands, by which it runs a user's code in a process of its own. */
export const REWARD_HOST = "reward-host";
export const TASK_HOST = "task-host";
export const ENVIRONMENT_HOST = "environment-host";
