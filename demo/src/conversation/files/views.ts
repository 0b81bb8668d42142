// Elements for files and tools in messages, whose code loads with the first one. Without its code, an element
// is empty, and the next one retries.
import { html, type TemplateResult } from 'lit'
import type { UsedTool } from '../../tools/tools.ts'
import type { Read } from '../store/conversations.ts'
import type { Picture } from './attachments.ts'

export function pictureView(picture: Picture): TemplateResult {
  void import('./picture-view.ts').catch(() => undefined)
  return html`<picture-view .picture=${picture}></picture-view>`
}

export function readView(read: Read): TemplateResult {
  void import('./read-note.ts').catch(() => undefined)
  return html`<read-note .read=${read}></read-note>`
}

export function usedView(used: readonly UsedTool[]): TemplateResult {
  void import('../../tools/used-view.ts').catch(() => undefined)
  return html`<used-view .used=${used}></used-view>`
}
