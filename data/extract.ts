/**
 * The answer in a completion: the last `<answer>…</answer>`. The same result as Python's
 * `re.findall(r"<answer>\s?(.*?)\s?</answer>", text, re.DOTALL)[-1].strip()`, in linear time.
 */
import { isSpace, strip as stripSpace } from "../tasks/python/text.ts";

/**
 * The text between the last pair of tags; null when there is none.
 * @param strip remove all white space around it; false: one character at each end
 */
export function extractAnswer(text: string, tag = "answer", strip = true): string | null {
  const open = `<${tag}>`, close = `</${tag}>`;
  let content: string | null = null;
  for (let from = 0;;) {
    const start = text.indexOf(open, from);
    if (start < 0) break;
    const end = text.indexOf(close, start + open.length);
    if (end < 0) break;
    content = text.slice(start + open.length, end);
    from = end + close.length;
  }
  if (content === null) return null;
  if (strip) return stripSpace(content);
  if (content !== "" && isSpace(content[0]!)) content = content.slice(1);
  return content !== "" && isSpace(content.at(-1)!) ? content.slice(0, -1) : content;
}
