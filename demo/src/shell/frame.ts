// The frame. In: the chat's state, its buttons' actions. Out: the header, and the welcome screen.
import { html, nothing, type TemplateResult } from 'lit'
import type { Chat } from '../conversation/chat.ts'
import { choiceName, promiseOf } from '../models/models.ts'
import { t } from '../words/words.ts'
import { icon, logo } from './icons.ts'
import { isReturning } from './shell.ts'
import { parameters } from './units.ts'

const STARTERS = ['Hello! How are you?', 'Tell me a story about a fox.', 'What can you do?']

/** The buttons' actions. */
export interface Acts {
  open(dialog: 'conversation-drawer' | 'models-dialog' | 'settings-dialog'): void
  /** Begins a conversation. */
  fresh(): void
  send(text: string): void
}

/** `isWide`: the conversation list is next to the chat and needs no button. */
export function renderBar({ model, conversation }: Chat, isWide: boolean, acts: Acts): TemplateResult {
  const name = choiceName(model.shown)
  const { engine } = model
  const about = engine === undefined ? '' : t('parameters', { count: parameters(engine.model.parameters) })
  return html`<header class="bar">
    ${
      isWide
        ? nothing
        : html`<button class="quiet" aria-label=${t('conversations')} @click=${() => acts.open('conversation-drawer')}>${icon('menu')}</button>`
    }
    <h1><button class="model" aria-haspopup="dialog" aria-label=${t('modelButton', { name })} title=${about}
      @click=${() => acts.open('models-dialog')}><span dir="auto">${name}</span>${icon('more')}</button></h1>
    ${
      isWide || conversation.messages.length === 0
        ? nothing
        : html`<button class="quiet" aria-label=${t('newChatStart')} @click=${() => acts.fresh()}>${icon('plus')}</button>`
    }
    <button class="quiet" aria-label=${t('settings')} @click=${() => acts.open('settings-dialog')}>${icon('settings')}</button>
  </header>`
}

/** Renders nothing until the page knows whether to show a conversation instead. */
export function renderWelcome({ model, isOpen, canAsk }: Chat, acts: Acts): TemplateResult | typeof nothing {
  if (!isOpen && isReturning()) return nothing
  return html`<div class="empty">
    ${logo()}
    <h2>${t('welcome')}</h2>
    <p>${t('welcomeMore')}</p>
    <div class="starters">
      ${STARTERS.map(
        (text) =>
          html`<button class="outline" dir="auto" ?disabled=${!canAsk} @click=${() => acts.send(text)}>${text}</button>`,
      )}
    </div>
    <p class="promise"><span>${promiseOf(model.shown)}</span> <button class="link"
      @click=${() => acts.open('models-dialog')}>${t('larger')}</button></p>
  </div>`
}
