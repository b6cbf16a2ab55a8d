/** Sizes as people say them: "137 MB", "2.4 GB" (powers of ten). */
export function bytesText(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
