// Shows a picture by an element whose code loads when the first one is there.
import { html, type TemplateResult } from 'lit'
import type { Picture } from './attachments.ts'

/** Without its code the element is empty, and loads it with the next picture. */
export function pictureView(picture: Picture): TemplateResult {
  void import('./picture-view.ts').catch(() => undefined)
  return html`<picture-view .picture=${picture}></picture-view>`
}
