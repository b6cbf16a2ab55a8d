/** 16-bit floats, for the readers of weight files: see core/half_floats.ts. */
export * from "../core/half_floats.ts";
