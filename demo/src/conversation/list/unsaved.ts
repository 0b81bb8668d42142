// What could not be saved. In: the chat's state. Out: a notice that says so as long as it is so, with ways to
// keep what was written.
import { html, nothing, type TemplateResult } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { t } from '../../words/words.ts'
import type { Chat } from '../chat.ts'
import { saveFile } from './hand-out.ts'

/** `free` opens what can be removed from this device. */
export function renderUnsaved(chat: Chat, free: () => void): TemplateResult {
  // It is always there: a screen reader reads what is put into it, also after another try that failed.
  return html`<div class="unsaved" role="status">${notice(chat, free)}</div>`
}

function notice(chat: Chat, free: () => void): TemplateResult | typeof nothing {
  const { trouble, tries } = chat
  if (trouble === undefined) {
    return chat.wasTroubled ? html`<span class="visually-hidden">${t('savedAgain')}</span>` : nothing
  }
  const isFull = trouble === 'full'
  return html`<div class="notice error">
    ${keyed(tries, html`<p dir="auto">${t(isFull ? 'unsavedFull' : 'unsavedFailed')}</p>`)}
    <div class="row">
      ${isFull ? html`<button class="outline" @click=${free}>${t('freeSpace')}</button>` : nothing}
      <button class="outline" @click=${() => void chat.retry()}>${t('tryAgain')}</button>
      <button class="outline" @click=${() => void save(chat)}>${t('saveFile')}</button>
    </div>
  </div>`
}

/** As the list's own export: the file can be imported again. */
async function save({ unsaved }: Chat): Promise<void> {
  const { toJson, fileName } = await import('./exchange.ts')
  saveFile(fileName(unsaved[0]?.title ?? '', 'json'), await toJson(unsaved), 'application/json')
}
