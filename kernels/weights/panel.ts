/** Number of rows in a panel of a packed or stored weight: the lanes that the CPU kernels fill. */
export const PANEL = 16;
