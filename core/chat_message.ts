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
  /** The calls of tools that the assistant asks for. */
  tool_calls?: readonly ToolCall[];
  /** In a tool's result: the `id` of the call that it answers. */
  tool_call_id?: string;
  /** In a tool's result: the tool's name. */
  name?: string;
}

/** A call of a tool, as chat templates read it. */
export interface ToolCall {
  /** Distinguishes the calls of a conversation. */
  id?: string;
  /** The kind of tool: there is only this one. */
  type: "function";
  /** The function, and the values that the model gives it. */
  function: {
    name: string;
    /** The arguments by name. In OpenAI's API they are a text of JSON. */
    arguments: Readonly<Record<string, unknown>>;
  };
}

/** A tool that a model may call. */
export interface Tool {
  type: "function";
  function: {
    name: string;
    description?: string;
    /** JSON schema of an object: the arguments by name. */
    parameters?: Readonly<Record<string, unknown>>;
  };
}
