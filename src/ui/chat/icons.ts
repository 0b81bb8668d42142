// Icons. In: names and their paths. Out: inline SVGs that screen readers skip, because the button has the
// label.
import { html, svg, type TemplateResult } from 'lit'

/** Icons used by both the page and the widget. Each adds its own, so that neither downloads the other's. */
export const PATHS = {
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3M19.5 3.5V8H15',
  down: 'M12 5v14M6 13l6 6 6-6',
} as const

/** Returns a function that draws the icon with a given name from `paths`. */
export const drawing =
  <Name extends string>(paths: Readonly<Record<Name, string>>) =>
  (name: Name): TemplateResult =>
    html`<svg class="icon icon-${name}" viewBox="0 0 24 24" aria-hidden="true">${svg`<path d=${paths[name]}></path>`}</svg>`

/** Draws a shared icon. */
export const icon = drawing(PATHS)
