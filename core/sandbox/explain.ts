/** Explains an exception of a user's code, which was loaded from a `data:` URL. */
import { messageOf } from "../errors.ts";

/** An exception's message with its line. @param moduleUrl the `data:` URL of the user's module */
export function explain(error: unknown, moduleUrl: string): string {
  const message = messageOf(error).replaceAll(moduleUrl, "the file");
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const [, line, column] = /data:text\/javascript[^\s]*?:(\d+):(\d+)/.exec(stack) ?? [];
  return line === undefined || message.includes("the file:")
    ? message
    : `${message} (line ${line}, column ${column})`;
}
