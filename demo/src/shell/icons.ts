// Icons. In: a name. Out: an inline drawing that screen readers skip. The button has the label.
import { html, svg, type TemplateResult } from 'lit'

const PATHS = {
  menu: 'M4 7h16M4 12h10M4 17h16',
  settings:
    'M4 7h10M18 7h2M4 17h2M10 17h10M16 5a2 2 0 1 0 0 4a2 2 0 0 0 0-4M8 15a2 2 0 1 0 0 4a2 2 0 0 0 0-4',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  plus: 'M12 5v14M5 12h14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3M19.5 3.5V8H15',
  more: 'M7 10l5 5 5-5',
  dots: 'M5 12h.01M12 12h.01M19 12h.01',
  back: 'M15 6l-6 6 6 6',
  next: 'M9 6l6 6-6 6',
  fork: 'M6 4v6a4 4 0 0 0 4 4h8M14 10l4 4-4 4M6 10v10',
  down: 'M12 5v14M6 13l6 6 6-6',
  file: 'M7 3h7l5 5v13H7zM14 3v5h5',
  attach:
    'M19 11.5l-7.2 7.2a4.6 4.6 0 0 1-6.5-6.5l7.6-7.6a3 3 0 0 1 4.3 4.3l-7.6 7.5a1.5 1.5 0 0 1-2.1-2.1l6.8-6.8',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
} as const

export type IconName = keyof typeof PATHS

export function icon(name: IconName): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${svg`<path d=${PATHS[name]}></path>`}</svg>`
}

/** Half of a byte's eight bits: `M14 16h3v11h-3z` and three more, to the right of it. */
const bits = (top: number) => [14, 25, 36, 47].map((left) => `M${left} ${top}h3v11h-3z`).join('')

export function logo(): TemplateResult {
  return html`<svg class="logo" viewBox="0 0 64 64" aria-hidden="true">
    <rect class="logo-ground" width="64" height="64" rx="15"></rect>
    <path class="logo-bits" d=${bits(16)}></path>
    <path class="logo-bits" d=${bits(37)} opacity="0.35"></path>
  </svg>`
}
