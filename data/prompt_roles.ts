/** Who speaks the system prompt of a chat. */

/** The role of the message that holds the system prompt. */
export type PromptRole = "system" | "developer" | "user";
export const PROMPT_ROLES: readonly PromptRole[] = ["system", "developer", "user"];
