// The files of the composer: their list, and long texts that were pasted. In: files and texts. Out: the
// attachments of the next message. It loads with the first file.
import { html, nothing, type ReactiveControllerHost, type TemplateResult } from 'lit'
import { readsDocuments } from '../../../../src/ui/documents/choose.ts'
import type { ModelChoice } from '../../models/embedded.ts'
import { trainingOf } from '../../models/training.ts'
import { icon } from '../../shell/icons.ts'
import { t } from '../../words/later-words.ts'
import { type Attachment, isPicture, type TextFile } from './attachments.ts'
import { isPictureFile, readFiles } from './read-files.ts'
import { Undo, type Written } from './undo.ts'
import { pictureView } from './views.ts'

/** The part of the composer that its files need. */
interface Host extends HTMLElement, ReactiveControllerHost {
  attached: readonly Attachment[]
  wrong: string
  note: string
  readonly blind: boolean
  /** The model that answers, and its context. */
  readonly shown: ModelChoice | undefined
  readonly context: number | undefined
  readonly field: HTMLTextAreaElement | null
}

/** Number of characters of a pasted text that its name shows; few enough for a phone. */
const START = 16

export class ComposerFiles {
  readonly #host: Host
  readonly #undo = new Undo()
  /** Aborts the reads in progress. */
  #stop = new AbortController()
  /** What is being read, shown once that takes long. */
  #reading = ''

  constructor(host: Host) {
    this.#host = host
    host.addEventListener('keydown', (event) => {
      if (event.target !== host.field) return
      const files = this.#undo.pressed(event, host.field?.value ?? '')
      if (files === undefined) return
      event.preventDefault()
      this.#have(files)
    })
    host.addEventListener('input', (event) => {
      if (event.target !== host.field || !(event instanceof InputEvent)) return
      const files = this.#undo.edited(event.inputType, host.field?.value ?? '')
      if (files !== undefined) this.#have(files)
    })
    host.addEventListener('send', () => this.#undo.forget())
  }

  /** Adds files, unless the user cancels it. Throws like `readFiles`. */
  async attach(files: readonly File[]): Promise<void> {
    const host = this.#host
    const { signal } = this.#stop
    // Checked before anything is read, so that nobody waits for a made-up answer.
    if (this.#isTooSmall() && !files.every(isPictureFile)) host.note = t('documentsSmall')
    try {
      const { attachments, note } = await readFiles(files, host.attached.length, host.blind, {
        signal,
        onPages: (name, done, all) => this.#show(t('documentReading', { name, done, all })),
      })
      this.#change(() => this.#have([...host.attached, ...attachments]))
      host.note = note
    } catch (error) {
      host.note = ''
      if (!signal.aborted) throw error
    } finally {
      this.#show('')
    }
  }

  #show(reading: string): void {
    this.#reading = reading
    this.#host.requestUpdate()
  }

  #cancel(): void {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#host.focus()
  }

  /** Attaches pasted text as a file, replacing the selection. Throws like `attach`. */
  async attachText(text: string): Promise<void> {
    const host = this.#host
    const file = new File([text], pastedName(text, host.attached), { type: 'text/plain' })
    const { attachments } = await readFiles([file], host.attached.length, host.blind)
    const { field } = host
    this.#change(() => {
      if (field?.matches(':focus') && field.selectionStart < field.selectionEnd)
        document.execCommand('delete')
      this.#have([...host.attached, ...attachments])
    })
    host.note = t('pastedNote')
  }

  /** The button for a photograph. */
  camera(onPicked: (event: Event) => void): TemplateResult {
    const pick = ({ currentTarget }: Event) =>
      ((currentTarget as HTMLElement).nextElementSibling as HTMLElement).click()
    return html`<button type="button" class="quiet" aria-label=${t('takePhoto')} @click=${pick}>${icon('camera')}</button><input
      class="visually-hidden" type="file" accept="image/*" capture="environment" tabindex="-1" aria-hidden="true" @change=${onPicked} />`
  }

  view(): TemplateResult {
    const { attached } = this.#host
    const isText = attached.some((file) => !isPicture(file))
    return html`${isText && this.#isTooSmall() ? this.#smallNotice() : nothing}${this.#reading === '' ? nothing : this.#progress()}
      ${attached.length === 0 ? nothing : html`<ul class="attached" aria-label=${t('attached')}>${attached.map((file) => this.#item(file))}</ul>`}`
  }

  #isTooSmall(): boolean {
    const { context, shown } = this.#host
    if (shown === undefined || context === undefined) return false
    return !readsDocuments(context, !trainingOf(shown).isStoryteller)
  }

  #smallNotice(): TemplateResult {
    const choose = () => this.#host.dispatchEvent(new Event('models'))
    return html`<div class="notice"><p>${t('documentsSmall')}</p>
      <div class="row"><button type="button" class="outline" @click=${choose}>${t('chooseModel')}</button></div></div>`
  }

  #progress(): TemplateResult {
    return html`<div class="notice slim"><span role="status" dir="auto">${this.#reading}</span>
      <button type="button" class="small" @click=${() => this.#cancel()}>${t('cancel')}</button></div>`
  }

  #item(file: Attachment): TemplateResult {
    const { name } = file
    return html`<li>${isPicture(file) ? pictureView(file) : nothing}<span dir="auto">${name}</span>
      ${isPicture(file) ? nothing : this.#editButton(file)}
      <button type="button" class="quiet" aria-label=${t('removeName', { name })} @click=${() => this.#remove(file)}>${icon('close')}</button></li>`
  }

  #editButton(file: TextFile): TemplateResult {
    const label = t('editName', { name: file.name })
    return html`<button type="button" class="quiet" aria-label=${label} title=${label} @click=${() => this.#write(file)}>${icon('edit')}</button>`
  }

  #remove(file: Attachment): void {
    const { attached } = this.#host
    this.#change(() => this.#have(attached.filter((other) => other !== file)))
    this.#host.focus()
  }

  /** Inserts a file's text at the caret. */
  #write(file: TextFile): void {
    const host = this.#host
    const { attached, field } = host
    if (field === null) return
    const count = field.value.length + file.text.length
    const most = field.maxLength
    if (count > most) {
      host.wrong = t('editLong', { name: file.name, count, most })
      return
    }
    host.focus()
    this.#change(() => {
      // The browser can undo no other kind of scripted edit.
      document.execCommand('insertText', false, file.text)
      this.#have(attached.filter((other) => other !== file))
    })
  }

  #have(files: readonly Attachment[]): void {
    this.#host.attached = files
    this.#host.note = ''
    this.#host.wrong = ''
  }

  #change(act: () => void): void {
    const before = this.#written()
    endTyping(this.#host.field)
    act()
    this.#undo.note(before, this.#written())
  }

  #written(): Written {
    return { text: this.#host.field?.value ?? '', files: this.#host.attached }
  }
}

/** The browser undoes consecutive typing as one step, and would skip a step in between. */
function endTyping(field: HTMLTextAreaElement | null): void {
  if (!field?.matches(':focus')) return
  const { selectionStart, selectionEnd, selectionDirection } = field
  field.setSelectionRange(0, 0)
  field.setSelectionRange(selectionStart, selectionEnd, selectionDirection)
}

/** Includes the beginning of the text, so that users and the model can tell texts apart. */
function pastedName(text: string, taken: readonly Attachment[]): string {
  const letters = Array.from(
    text
      .slice(0, 20 * START)
      .trim()
      .replaceAll(/\s+/g, ' '),
  )
  const start = letters.length > START ? `${letters.slice(0, START).join('').trimEnd()}…` : letters.join('')
  const name = t('pasted', { start })
  const numbered = (count: number) => (count === 1 ? name : `${name} (${count})`)
  let count = 1
  while (taken.some((file) => file.name === numbered(count))) count++
  return numbered(count)
}
