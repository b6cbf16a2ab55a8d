/** What the page and its views know of each other. Only types. */
import type { Changes, Overview } from "../api.ts";

/** A view on the page. */
export interface View {
  title: string;
  element: HTMLElement;
  /** Called when files have changed. */
  changed?(changes: Changes): void;
  /** Called when the theme or the width of the window has changed. */
  redraw?(): void;
  leave?(): void;
}

/** What views know about the page: the list, and the parameters in the address. */
export interface PageState {
  overview: Overview;
  parameters: URLSearchParams;
  /** Changes parameters in the address, without drawing the view again; "" removes one. */
  remember(parameters: Readonly<Record<string, string>>): void;
}
