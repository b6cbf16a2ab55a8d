/**
 * The reward's time limit: seconds for one value, from `training.reward_timeout` or from `timeout`
 * of a reward. A promise that is late gives no value. A user's reward that does not return at all
 * is ended with its process (`custom_scorer.ts`). A value that is not there in time counts 0.
 */
import { RgxError } from "../core/errors.ts";
import { runningTimeout } from "../core/machine/running_time.ts";

/** Default of `training.reward_timeout`, in seconds. */
export const DEFAULT_TIME_LIMIT = 5;

export class Late extends RgxError {}

/** @param what is late, for the message @throws Late after `seconds` */
export async function inTime<T>(
  result: T | Promise<T>,
  seconds: number,
  what = "value",
): Promise<T> {
  if (!(result instanceof Promise)) return result;
  let stop = () => {};
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new Late(`gave no ${what} within ${seconds} s`));
    stop = runningTimeout(fail, seconds * 1000);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    stop();
  }
}
