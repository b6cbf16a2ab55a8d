/** The machines that a run on several ranks is planned for. */

/** Nodes with cards, and what connects them. */
export interface RankLayout {
  nodes: number;
  /** Cards of a node, one rank each. */
  gpus: number;
  /** Bytes a second of a node's network, as its data sheet says. */
  network: number;
  /** Mean time between failures of a node, in seconds. */
  nodeFailures: number;
}

/**
 * 419 unexpected interruptions in 54 days of 16,384 cards in nodes of 8 (The Llama 3 Herd of
 * Models, arXiv 2407.21783, section 3.3.4).
 */
export const NODE_FAILURE_SECONDS = 54 * 86_400 * (16_384 / 8) / 419;

/** 100 Gb/s. */
export const NETWORK_BYTES = 100e9 / 8;
