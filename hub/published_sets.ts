/** Data sets that go by a name of their own, and where they are on the Hub. */
export const PUBLISHED_SETS: Readonly<Record<string, string>> = {
  gsm8k: "hf://datasets/openai/gsm8k/main",
  math500: "hf://datasets/HuggingFaceH4/MATH-500",
  mmlu_pro: "hf://datasets/TIGER-Lab/MMLU-Pro",
};

/** Where a published data set is when no file is named; null for other names. */
export function publishedPlace(name: string): string | null {
  return Object.hasOwn(PUBLISHED_SETS, name) ? PUBLISHED_SETS[name]! : null;
}
