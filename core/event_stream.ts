/** Events of a call as an async iterator, beside the callbacks that report them at once. */

/**
 * The events of some work, which begins when the first event is requested. Leaving the loop early
 * aborts the work's signal and waits for the end of the work.
 * @param work calls `emit` for each event; its result is the value that ends the iterator
 * @param signal also aborts the work
 */
export async function* eventStream<Event, Result>(
  work: (emit: (event: Event) => void, signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): AsyncGenerator<Event, Result, void> {
  const waiting: Event[] = [], left = new AbortController();
  let news = Promise.withResolvers<void>(), isDone = false;
  const emit = (event: Event) => {
    waiting.push(event);
    news.resolve();
  };
  const both = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  const result = work(emit, both);
  const end = result.then(() => {}, () => {}).finally(() => {
    isDone = true;
    news.resolve();
  });
  try {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift()!;
      if (isDone) return await result;
      await news.promise;
      news = Promise.withResolvers();
    }
  } finally {
    left.abort();
    await end;
  }
}
