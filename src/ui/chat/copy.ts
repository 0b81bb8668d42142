// Copying. In: a text. Out: the text on the clipboard, and a button that confirms it.
import { html, type TemplateResult } from 'lit'
import { icon } from './icons.ts'

/** How long a button confirms the copy, in milliseconds. */
const COPIED_MS = 1500

/** Pages over plain HTTP have no clipboard API, so a selection is copied instead. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelection(text)
  }
}

function copySelection(text: string): boolean {
  const active = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  document.body.append(area)
  area.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    area.remove()
    if (active instanceof HTMLElement) active.focus()
  }
}

/**
 * Copies `text` for the clicked button, which gets the class `done` for a while on success.
 */
export async function copyFrom(event: Event, text: string): Promise<void> {
  const button = event.currentTarget as HTMLElement
  button.classList.toggle('done', await copyText(text))
  setTimeout(() => button.classList.remove('done'), COPIED_MS)
}

/** The style sheet shows one of the two labels. */
export const copyButton = (
  text: string,
  words: { readonly copy: string; readonly copied: string },
): TemplateResult =>
  html`<button type="button" class="small copy" @click=${(event: Event) => copyFrom(event, text)}>
    <span>${icon('copy')}${words.copy}</span><span>${icon('check')}${words.copied}</span></button>`
