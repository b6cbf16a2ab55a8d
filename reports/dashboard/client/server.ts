/** Asks the server, with the token of the page's address, and listens to its events. */
import type { Changes } from "../runs.ts";

const token = new URLSearchParams(location.search).get("token") ?? "";

/** A problem that the server reports, to be shown as it is. */
export class Problem extends Error {}

/**
 * @param body what the server is to do; without it, the question only reads
 * @throws Problem when the server refuses or is gone
 */
export async function ask<T>(
  what: string,
  parameters: Readonly<Record<string, string | number | null>> = {},
  body?: unknown,
): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== "") query.set(name, String(value));
  }
  let response: Response;
  try {
    response = await fetch(`api/${what}?${query}`, {
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
  } catch {
    throw new Problem("The dashboard does not answer; it may have been ended.");
  }
  if (response.ok) return await response.json();
  const answer = await response.text();
  let text = answer;
  try {
    text = JSON.parse(answer).problem ?? answer;
  } catch {
    // not JSON: shown as it is
  }
  throw new Problem(text);
}

/** Calls `take` for every change; the connection is made again when it breaks. */
export function listen(
  take: (changes: Changes) => void,
  connected: (isConnected: boolean) => void,
): void {
  const source = new EventSource(`api/events?${new URLSearchParams({ token })}`);
  source.addEventListener("hello", () => connected(true));
  source.addEventListener("alive", () => connected(true));
  source.addEventListener("changes", (event) => {
    connected(true);
    take(JSON.parse((event as MessageEvent<string>).data));
  });
  source.onerror = () => connected(false);
}
