/** Python's `re.findall(r"<tag>(.*?)</tag>", text, re.DOTALL)`, in linear time. */
export function tagContents(text: string, tag: string): string[] {
  const open = `<${tag}>`, close = `</${tag}>`, found: string[] = [];
  for (let from = 0;;) {
    const start = text.indexOf(open, from);
    const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
    if (end < 0) return found;
    found.push(text.slice(start + open.length, end));
    from = end + close.length;
  }
}
