/** The threads of `rgx score`. Each scores one piece at a time. */
import { RgxError } from "../../core/errors.ts";
import type { PieceReply, PieceRequest } from "./score_worker.ts";

interface Job {
  request: PieceRequest;
  resolve: (reply: PieceReply) => void;
  reject: (error: Error) => void;
}

export class ScorePool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: Job[] = [];
  readonly #running = new Map<Worker, Job>();

  constructor(threads: number) {
    for (let i = 0; i < threads; i++) {
      const worker = new Worker(new URL("./score_worker.ts", import.meta.url), { type: "module" });
      worker.onmessage = ({ data }: MessageEvent<PieceReply>) => {
        this.#running.get(worker)!.resolve(data);
        this.#next(worker);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.#fail(new RgxError(`a thread that scores has failed: ${event.message}`));
      };
      this.#workers.push(worker);
      this.#idle.push(worker);
    }
  }

  /** @throws RgxError when a thread dies */
  score(request: PieceRequest): Promise<PieceReply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      const worker = this.#idle.pop();
      if (worker !== undefined) this.#next(worker);
    });
  }

  close(): void {
    for (const worker of this.#workers) worker.terminate();
  }

  #next(worker: Worker): void {
    this.#running.delete(worker);
    const job = this.#waiting.shift();
    if (job === undefined) return void this.#idle.push(worker);
    this.#running.set(worker, job);
    worker.postMessage(job.request, [job.request.lines.buffer]);
  }

  #fail(error: Error): void {
    for (const job of [...this.#running.values(), ...this.#waiting]) job.reject(error);
  }
}
