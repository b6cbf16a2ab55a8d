/** What all connections share: trusted certificates, and the reasons of failures for messages. */
import { messageOf, RgxError, UsageError } from "./errors.ts";
import { whyUnreadable } from "./text_file.ts";

/**
 * A client that also trusts the certificates in a file.
 * @param path value of SSL_CERT_FILE
 * @throws UsageError
 */
export function clientTrusting(path: string): Deno.HttpClient {
  try {
    return Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(path)] });
  } catch (error) {
    throw new UsageError(`SSL_CERT_FILE: ${path} cannot be used: ${whyUnreadable(error)}`, {
      cause: error,
    });
  }
}

/** Why a program of this machine cannot be a server at an address. */
export function listenError(hostname: string, port: number, cause: unknown): RgxError {
  if (cause instanceof Deno.errors.AddrInUse) {
    return new RgxError(`port ${port} of ${hostname} is in use`, {
      advice: "Choose another one with --port; 0 takes a free one.",
      cause,
    });
  }
  return new UsageError(`${hostname}:${port}: cannot listen there: ${messageOf(cause)}`, {
    advice: "--host is an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them. " +
      "Ports below 1024 often belong to the administrator.",
    cause,
  });
}

/** Whether the server is not trusted; repeating the request does not help then. */
export function isCertificateError(reason: string): boolean {
  return /certificate/i.test(reason);
}

/** Why a connection failed, without the address: a signed address is a secret. */
export function networkReason(error: Error): string {
  // Depending on the version of Deno, the reason is in the innermost error or in the only one.
  if (error.cause instanceof Error) return networkReason(error.cause);
  const text = error.message
    .replace(/^error sending request(?: from \S+)?(?: for (?:url )?\S+(?: \([^)]*\))?)?:? ?/, "")
    .replace(/^(?:client error \([^)]*\): )+/, "").replace(/ ?\(os error \d+\)/g, "");
  return text === "" ? "the connection failed" : text;
}
