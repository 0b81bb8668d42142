// Documents of messages. In: files that a user picks, pastes or drops. Out: the documents of the next
// message, and their views.
import { html, nothing, type TemplateResult } from 'lit'
import { isPictureFile } from '../../chat/picture-kind.ts'
import { bytesText } from '../../chat/texts.ts'
import { documentSentence } from '../../documents/document-error.ts'
import { ACCEPTED, MAX_DOCUMENTS } from '../../documents/kinds.ts'
import type { TextDocument } from '../../documents/read-file.ts'
import { type AttachmentSource, Attachments, openPicker } from './attachments.ts'
import { icon } from './frame.ts'

interface DocumentSource extends AttachmentSource {
  /** Whether the page lets the user attach documents. */
  readonly isAllowed: () => boolean
  /** False if the model is too small to read documents, undefined while that is unknown. */
  readonly reads: () => boolean | undefined
  readonly startPdf: () => Promise<Worker>
  /** Called with every failure that the user sees. */
  readonly onError: (error: unknown) => void
}

export class AttachedDocuments extends Attachments<TextDocument, DocumentSource> {
  /** What is being read. */
  #progress = ''
  /** Ends the reads in progress; undefined while nothing is read. A message waits for them. */
  #stop: AbortController | undefined

  /** An element that leaves its page stops reading. */
  override hostDisconnected(): void {
    this.#stop?.abort()
  }

  get isReading(): boolean {
    return this.#stop !== undefined
  }

  async attach(files: readonly File[]): Promise<void> {
    const words = this.from.words()
    if (this.isReading) return
    if (this.from.reads() === false) return this.fail(this.say('documentsUnread'))
    const count = files.length + this.attached.length
    if (count > MAX_DOCUMENTS) return this.fail(this.say('documentsMany', { count, most: MAX_DOCUMENTS }))
    const stop = new AbortController()
    this.#stop = stop
    this.fail('')
    try {
      for (const file of files) {
        const { name } = file
        this.#show(this.say('documentOpening', { name }))
        const document = await this.#read(file, stop.signal)
        this.attached = [...this.attached, document]
      }
    } catch (error) {
      if (!stop.signal.aborted) {
        this.wrong = documentSentence(error, words, this.from.language()) ?? this.say('error-network')
        this.from.onError(error)
      }
    }
    this.#stop = undefined
    this.#show('')
    this.from.onAttached()
  }

  async #read(file: File, signal: AbortSignal): Promise<TextDocument> {
    const { readDocument } = await import('../../documents/index.ts')
    return readDocument(file, {
      signal,
      startPdf: this.from.startPdf,
      sizeText: (bytes) => bytesText(bytes, this.from.language()),
      onPages: (done, all) => this.#show(this.say('documentReading', { name: file.name, done, all })),
    })
  }

  /** Attaches those of the files that are not pictures, if the page allows it, and returns the others. */
  takeFrom(files: readonly File[]): readonly File[] {
    if (!this.from.isAllowed()) return files
    const documents = files.filter((file) => !isPictureFile(file))
    if (documents.length > 0) void this.attach(documents)
    return files.filter(isPictureFile)
  }

  /** The attached documents, those that are being read, and the errors of the others. */
  above(): TemplateResult {
    const words = this.from.words()
    const cancel = () => {
      this.#stop?.abort()
      this.from.onAttached()
    }
    return html`${this.wrongView()}
      ${
        this.#progress === ''
          ? nothing
          : html`<div class="reading"><span role="status">${this.#progress}</span>
              <button type="button" class="small" part="button" @click=${cancel}>${words.cancel}</button></div>`
      }
      ${this.hasSome ? html`<ul class="attached documents" part="documents" aria-label=${words.attachedDocuments}>${this.items()}</ul>` : nothing}`
  }

  /** The button that attaches documents; nothing unless the page allows it. */
  button(): TemplateResult | typeof nothing {
    if (!this.from.isAllowed()) return nothing
    const { attachDocuments: label } = this.from.words()
    return html`<button type="button" class="quiet attach" part="button" aria-label=${label} title=${label}
        @click=${openPicker}>${icon('clip')}</button><input class="visually-hidden" type="file" multiple accept=${ACCEPTED}
        tabindex="-1" aria-hidden="true" @change=${this.onPicked} />`
  }

  #show(progress: string): void {
    this.#progress = progress
    this.host.requestUpdate()
  }
}

/** The names of a question's documents, each of which opens its text. */
export const documentsView = (documents: readonly TextDocument[] | undefined): unknown =>
  documents === undefined
    ? nothing
    : documents.map(
        ({ name, text }) =>
          html`<details class="document"><summary dir="auto">${name}</summary><pre tabindex="0" dir="auto">${text}</pre></details>`,
      )
