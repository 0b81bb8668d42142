// Unsaved messages. In: the chat's state. Out: a notice while messages are unsaved, with ways to keep them.
import { html, nothing, type TemplateResult } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { t } from '../../words/words.ts'
import type { Chat } from '../chat.ts'
import { saveFile } from './hand-out.ts'

/** `free` opens the list of what can be removed from this device. */
export function renderUnsaved(chat: Chat, free: () => void): TemplateResult {
  // The element is always present, so that screen readers announce changes to it, even after another failed
  // try.
  return html`<div class="unsaved" role="status">${notice(chat, free)}</div>`
}

function notice(chat: Chat, free: () => void): TemplateResult | typeof nothing {
  const { trouble, tries } = chat
  if (trouble === undefined) {
    return chat.wasTroubled ? html`<span class="visually-hidden">${t('savedAgain')}</span>` : nothing
  }
  const isFull = trouble === 'full'
  return html`<div class="notice error">
    ${keyed(tries, html`<p>${t(isFull ? 'unsavedFull' : 'unsavedFailed')}</p>`)}
    <div class="row">
      ${isFull ? html`<button class="outline" @click=${free}>${t('freeSpace')}</button>` : nothing}
      <button class="outline" @click=${() => void chat.retry()}>${t('tryAgain')}</button>
      <button class="outline" @click=${() => void save(chat)}>${t('saveFile')}</button>
    </div>
  </div>`
}

/** Like the list's export: the file can be imported again. */
async function save({ unsaved }: Chat): Promise<void> {
  const { toJson, fileName } = await import('./exchange.ts')
  saveFile(fileName(unsaved[0]?.title ?? '', 'json'), await toJson(unsaved), 'application/json')
}
