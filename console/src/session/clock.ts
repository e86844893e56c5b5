/** The server's clock. A reader's may be wrong by hours, and ages must not be. */

// bound: the header counts in seconds and answers take a moment; less is noise
const NOISE_MS = 3_000;

let offsetMs = 0;

/** Learns from the `Date` of an answer. */
export function hear(date: string | null, localMs = Date.now()): void {
  if (!date) return;
  const server = Date.parse(date);
  if (Number.isNaN(server)) return;
  const seen = server - localMs;
  offsetMs = Math.abs(seen) < NOISE_MS ? 0 : seen;
}

export function now(localMs = Date.now()): number {
  return localMs + offsetMs;
}
