/** A thread of `rgx score`: pieces of the input in, pieces of the output back, one at a time. */
import { type ScoredPiece, scoreLines } from "./score_lines.ts";

export interface PieceRequest {
  lines: Uint8Array<ArrayBuffer>;
  completions: boolean;
}

/** `text` as bytes, so that nothing is copied on the way. */
export type PieceReply = Omit<ScoredPiece, "text"> & { text: Uint8Array<ArrayBuffer> };

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<PieceRequest>) => void) | null;
  postMessage(reply: PieceReply, transfer: Transferable[]): void;
};

const decoder = new TextDecoder(), encoder = new TextEncoder();

scope.onmessage = ({ data: { lines, completions } }) => {
  const { text, ...counts } = scoreLines(decoder.decode(lines), completions);
  const bytes = encoder.encode(text);
  scope.postMessage({ text: bytes, ...counts }, [bytes.buffer]);
};
