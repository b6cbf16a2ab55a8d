/** A Plotly figure as data; the names are those of Plotly's reference. */

/** `width` and `height` are in screen pixels; a PNG has `PNG_SCALE` times as many. */
export interface Figure {
  data: Record<string, unknown>[];
  layout: Record<string, unknown> & { width: number; height: number };
}

/** Makes pictures sharp on a slide that fills a screen. */
export const PNG_SCALE = 2;
