/** Short names of published data sets, and where these are on the Hub. */
export const PUBLISHED_SETS: Readonly<Record<string, string>> = {
  gsm8k: "hf://datasets/openai/gsm8k/main",
  math500: "hf://datasets/HuggingFaceH4/MATH-500",
  mmlu_pro: "hf://datasets/TIGER-Lab/MMLU-Pro",
};

/** The place of a published data set on the Hub; null for other names. */
export function publishedPlace(name: string): string | null {
  return Object.hasOwn(PUBLISHED_SETS, name) ? PUBLISHED_SETS[name]! : null;
}
