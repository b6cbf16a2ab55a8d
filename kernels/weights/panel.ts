/** Rows of a weight in a panel, in packed and in stored weights: the lanes that the CPU's kernels fill. */
export const PANEL = 16;
