/** The kernels that a run uses on a graphics card, as its checkpoints hold them. */

export interface ChosenKernels {
  /** The card, driver and version of rgx that they were measured with. */
  about: object;
  /** Names of kernels by class of shapes. */
  choices: Record<string, string>;
}

export function sameCard(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function isChosenKernels(value: unknown): value is ChosenKernels {
  const { about, choices } = (value ?? {}) as Partial<ChosenKernels>;
  return typeof about === "object" && about !== null && typeof choices === "object" &&
    choices !== null && Object.values(choices).every((name) => typeof name === "string");
}
