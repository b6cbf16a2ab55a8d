/** What all connections of the program share: whom they trust, and in which words one that failed says why. */
import { UsageError } from "./errors.ts";
import { whyUnreadable } from "./text_file.ts";

/** A client that also trusts the certificates in a file, as SSL_CERT_FILE names one. @throws UsageError */
export function clientTrusting(path: string): Deno.HttpClient {
  try {
    return Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(path)] });
  } catch (error) {
    throw new UsageError(`SSL_CERT_FILE: ${path} cannot be used: ${whyUnreadable(error)}`, {
      cause: error,
    });
  }
}

/** Whether the other side is not trusted, which no further attempt changes. */
export function isCertificateError(reason: string): boolean {
  return /certificate/i.test(reason);
}

/** Why a connection failed, without the address: one that is signed is a secret. */
export function networkReason(error: Error): string {
  // The reason stands in the innermost error, or in the only one, depending on the version of Deno.
  if (error.cause instanceof Error) return networkReason(error.cause);
  const text = error.message
    .replace(/^error sending request(?: from \S+)?(?: for (?:url )?\S+(?: \([^)]*\))?)?:? ?/, "")
    .replace(/^(?:client error \([^)]*\): )+/, "").replace(/ ?\(os error \d+\)/g, "");
  return text === "" ? "the connection failed" : text;
}
