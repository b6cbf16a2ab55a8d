/** A Plotly figure as data, and the pieces of it that the charts use (names as in Plotly's reference). */

/** `width` and `height` are in pixels of a screen; a PNG has `PNG_SCALE` times as many each way. */
export interface Figure {
  data: Record<string, unknown>[];
  layout: Record<string, unknown> & { width: number; height: number };
}

/** Sharp on a slide that fills a screen. */
export const PNG_SCALE = 2;
