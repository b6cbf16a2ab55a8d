/**
 * Who may call a server of this machine. Any web page can make a browser send requests to any
 * address, also to this machine. The browser names the page's origin in `Origin`. A web page may
 * also choose a host name that leads to this machine: then the page has the server's own origin,
 * but `Host` is not a name of this machine. Programs other than browsers send no `Origin`.
 */

/** Whether an address is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** A server, and the origin that browsers may call from. */
export interface CallerRules {
  /** The address that the server listens on. */
  hostname: string;
  /** Null: only the server's own pages may call; "*": all pages. */
  cors: string | null;
}

/** Why a request is refused; null = it is not. @param wanted the setting that would allow it */
export function callerMistake(
  headers: Headers,
  { hostname, cors }: CallerRules,
  wanted = "--cors ORIGIN",
): string | null {
  const host = headers.get("host"), origin = headers.get("origin");
  if (host !== null && isLoopback(hostname) && !isOwnName(host, hostname)) {
    return `the name ${
      shown(host)
    } in Host is no name of this machine: use 127.0.0.1 or localhost, ` +
      "or let the server listen on another address with --host";
  }
  if (origin === null || origin === cors || cors === "*") return null;
  if (host !== null && isOwnOrigin(origin, host)) return null;
  return `pages of ${shown(origin)} may not call this server${wanted && `: ${wanted} lets them`}`;
}

/** Whether a Host header names a server that listens on loopback. */
function isOwnName(host: string, hostname: string): boolean {
  const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === hostname.toLowerCase() || name === "localhost" || name === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(name);
}

function isOwnOrigin(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === new URL(`http://${host}`).host;
  } catch {
    return false; // "null", of a file or a sandboxed frame
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
