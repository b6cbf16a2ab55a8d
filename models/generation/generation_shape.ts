/** The sizes of a generation, and how it divides its time. */
import type { DecoderShape } from "./decoder.ts";

export interface GenerationShape extends DecoderShape {
  /** Whether requests may change logits before sampling, or differ in how they sample. */
  adjusted: boolean;
  /** Maximum number of prompt rows in one prefill; a longer prompt runs alone. */
  prefillRows: number;
  /** Milliseconds after which the event loop gets a turn: signals arrive while a CPU computes. */
  turnMs: number;
  /** Waits for one turn of the event loop. */
  turn: () => Promise<void>;
  /**
   * Number of prompts that stay in the cache after they have ended, while there is room. With more
   * than one they also stay while there is no work; weights must not change then.
   */
  keptPrompts: number;
}
