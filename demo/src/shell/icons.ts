// Icons of the page. In: a name. Out: an inline drawing that screen readers skip. The label is on the button.
import { html, type TemplateResult } from 'lit'
import { drawing, PATHS } from '../../../src/ui/chat/icons.ts'

/** Draws an icon. */
export const icon = drawing({
  ...PATHS,
  menu: 'M4 7h16M4 12h10M4 17h16',
  settings:
    'M4 7h10M18 7h2M4 17h2M10 17h10M16 5a2 2 0 1 0 0 4a2 2 0 0 0 0-4M8 15a2 2 0 1 0 0 4a2 2 0 0 0 0-4',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  plus: 'M12 5v14M5 12h14',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  more: 'M7 10l5 5 5-5',
  dots: 'M5 12h.01M12 12h.01M19 12h.01',
  back: 'M15 6l-6 6 6 6',
  next: 'M9 6l6 6-6 6',
  fork: 'M6 4v6a4 4 0 0 0 4 4h8M14 10l4 4-4 4M6 10v10',
  file: 'M7 3h7l5 5v13H7zM14 3v5h5',
  attach:
    'M19 11.5l-7.2 7.2a4.6 4.6 0 0 1-6.5-6.5l7.6-7.6a3 3 0 0 1 4.3 4.3l-7.6 7.5a1.5 1.5 0 0 1-2.1-2.1l6.8-6.8',
  camera: 'M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 10a3.2 3.2 0 1 0 0 6.4a3.2 3.2 0 0 0 0-6.4',
  speak:
    'M12 4a2.5 2.5 0 0 1 2.5 2.5v5a2.5 2.5 0 0 1-5 0v-5A2.5 2.5 0 0 1 12 4M6.5 11.5a5.5 5.5 0 0 0 11 0M12 17v3.5',
  sound: 'M5 10v4h3l4 4V6l-4 4zM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
})

/** Half of a byte's eight bits: `M14 16h3v11h-3z` and three more to the right. */
const bits = (top: number) => [14, 25, 36, 47].map((left) => `M${left} ${top}h3v11h-3z`).join('')

export function logo(): TemplateResult {
  return html`<svg class="logo" viewBox="0 0 64 64" aria-hidden="true">
    <rect class="logo-ground" width="64" height="64" rx="15"></rect>
    <path class="logo-bits" d=${bits(16)}></path>
    <path class="logo-bits" d=${bits(37)} opacity="0.35"></path>
  </svg>`
}
