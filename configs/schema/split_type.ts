/** The type of keys that name a split of a data set, or slices of splits. */
import { UsageError } from "../../core/errors.ts";
import { parseSplit } from "../../data/split_slices.ts";
import { name, type ValueType } from "../types/value_types.ts";

export function splitText(): ValueType<string> {
  const plain = name(), expected = "a split or slices";
  return {
    expected,
    ts: "string",
    read(node, complain) {
      const text = plain.read(node, complain);
      if (text === undefined) return undefined;
      try {
        parseSplit(text);
        return text;
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        complain(node.at, `${error.message}. ${error.advice}`);
        return undefined;
      }
    },
  };
}
