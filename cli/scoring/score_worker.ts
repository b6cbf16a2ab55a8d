/** A thread of `rgx score`: receives pieces of the input and returns pieces of the output. */
import { type ScoredPiece, scoreLines } from "./score_lines.ts";

export interface PieceRequest {
  lines: Uint8Array<ArrayBuffer>;
  completions: boolean;
}

/** The reply holds `text` as bytes, so that it is transferred without a copy. */
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
