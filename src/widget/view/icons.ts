// Icons. In: a name. Out: an inline drawing that screen readers skip. The button has the label.
import { html, svg, type TemplateResult } from 'lit'

const PATHS = {
  chat: 'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v9A1.5 1.5 0 0 1 19 17h-7l-4.5 3.5V17H5a1.5 1.5 0 0 1-1.5-1.5v-9A1.5 1.5 0 0 1 5 5M8 9.5h8M8 12.5h5',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  close: 'M6 6l12 12M18 6L6 18',
  clear: 'M12 20h8M5 16L15.5 5.5l3 3L8 19H5z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3M19.5 3.5V8H15',
  down: 'M12 5v14M6 13l6 6 6-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  alert: 'M12 8v5M12 16.5v.1M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 0 0 0-17',
  tool: 'M14.5 6.5a4 4 0 0 0 4.8 5.2L11 20a2.1 2.1 0 0 1-3-3l8.3-8.3',
  quote: 'M5 7h14M5 12h14M5 17h8',
} as const

export type IconName = keyof typeof PATHS

export function icon(name: IconName): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${svg`<path d=${PATHS[name]}></path>`}</svg>`
}
