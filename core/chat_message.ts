/**
 * A message of a chat, as data sets, chat templates and APIs have it.
 */

/**
 * The role is any text that the model's chat template knows: system, user, assistant, … An object
 * may have further fields, which templates can read, such as `reasoning_content`.
 */
export interface ChatMessage {
  /** Who speaks. */
  role: string;
  /** The text of the message. */
  content: string;
}
