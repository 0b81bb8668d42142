// Pictures of messages. In: files that a user picks, pastes, drops or photographs. Out: the pictures of the
// next message, and their views.
import { html, nothing, type ReactiveController, type TemplateResult } from 'lit'
import { ref } from 'lit/directives/ref.js'
import type { ChatHost } from '../../chat/composer.ts'
import { isTouch } from '../../chat/keys.ts'
import type { PictureFault } from '../../chat/picture-files.ts'
import { bytesText } from '../../chat/texts.ts'
import type { Words } from '../../words/english.ts'
import { say } from '../../words/message.ts'
import type { EntryPicture } from '../conversation/entries.ts'
import { icon } from './frame.ts'

/** Maximum pixels of a drawn side. A phone's photograph has ten times as many. */
const MAX_PIXELS = 640

interface PictureSource {
  readonly words: () => Words
  /** For numbers. */
  readonly language: () => string
  /** False if the model has no vision tower, undefined while that is unknown. */
  readonly sees: () => boolean | undefined
  /** Takes files that are documents, and returns the others. */
  readonly others: (files: readonly File[]) => readonly File[]
  readonly onAttached: () => void
}

export class Pictures implements ReactiveController {
  readonly #host: ChatHost
  readonly #from: PictureSource
  #attached: readonly EntryPicture[] = []
  #wrong = ''
  /** Reads in progress. A message waits for them. */
  #reading = 0
  #isOver = false

  constructor(host: ChatHost, from: PictureSource) {
    this.#host = host
    this.#from = from
    host.addController(this)
  }

  hostConnected(): void {
    // A controller needs at least one of these methods.
  }

  get hasSome(): boolean {
    return this.#attached.length > 0
  }

  get isReading(): boolean {
    return this.#reading > 0
  }

  /** True while files are dragged over the chat. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The pictures of the message that is being sent. */
  take(): readonly EntryPicture[] {
    const taken = this.#attached
    // Not `#set`: the focus stays on Send.
    this.#attached = []
    this.#fail('')
    return taken
  }

  /** Attaches files, or says why not. */
  async attach(files: readonly File[]): Promise<void> {
    const words = this.#from.words()
    if (this.#from.sees() === false) return this.#fail(words.pictureBlind)
    this.#reading++
    this.#fail('')
    try {
      const { picturesOf } = await import('../../chat/picture-files.ts')
      const read = await picturesOf(files, this.#attached.length)
      if ('reason' in read) this.#wrong = this.#faultText(read)
      else this.#attached = [...this.#attached, ...read]
    } catch {
      this.#wrong = words['error-network']
    }
    this.#reading--
    this.#host.requestUpdate()
    this.#from.onAttached()
  }

  readonly onPaste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])]
    if (files.length === 0) return
    event.preventDefault()
    this.#bring(files)
  }

  readonly onDrag = (event: DragEvent): void => {
    const isFiles = event.dataTransfer?.types.includes('Files') === true
    // Otherwise the browser would open a dropped file in place of the page.
    if (isFiles) event.preventDefault()
    this.#over(isFiles && event.type !== 'dragleave')
  }

  readonly onDrop = (event: DragEvent): void => {
    this.#over(false)
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length === 0) return
    event.preventDefault()
    this.#bring(files)
  }

  /** Documents go to their own list. */
  #bring(files: readonly File[]): void {
    const own = this.#from.others(files)
    if (own.length > 0) void this.attach(own)
  }

  /** The attached pictures, and what was wrong with others. */
  above(): TemplateResult {
    const words = this.#from.words()
    return html`${this.#wrong === '' ? nothing : html`<p class="wrong" role="alert">${this.#wrong}</p>`}
      ${
        this.hasSome
          ? html`<ul class="attached" part="attached" aria-label=${words.attached}>${this.#attached.map((picture) => this.#item(picture, words))}</ul>`
          : nothing
      }`
  }

  /** The buttons that attach pictures; nothing unless the model is known to see. */
  buttons(): TemplateResult | typeof nothing {
    const words = this.#from.words()
    if (this.#from.sees() !== true) return nothing
    // The camera of a phone is not among the sources of every picture picker.
    return html`${picker('attach', words.attachPictures, false, this.#onPicked)}
      ${isTouch() ? picker('camera', words.takePhoto, true, this.#onPicked) : nothing}`
  }

  #item(picture: EntryPicture, words: Words): TemplateResult {
    const { name } = picture
    return html`<li>${pictureView(picture, words, this.#from.language())}<span dir="auto">${name}</span>
      <button type="button" class="quiet" part="button" aria-label=${say(words.removeName, { name }, this.#from.language())}
        @click=${() => this.#set(this.#attached.filter((other) => other !== picture))}>${icon('close')}</button></li>`
  }

  #set(attached: readonly EntryPicture[]): void {
    this.#attached = attached
    this.#fail('')
    this.#from.onAttached()
  }

  #fail(text: string): void {
    this.#wrong = text
    this.#host.requestUpdate()
  }

  #over(isOver: boolean): void {
    if (isOver === this.#isOver) return
    this.#isOver = isOver
    this.#host.requestUpdate()
  }

  readonly #onPicked = (event: Event): void => {
    const input = event.target as HTMLInputElement
    const files = [...(input.files ?? [])]
    // So that the same file can be picked again.
    input.value = ''
    if (files.length > 0) void this.attach(files)
  }

  #faultText(fault: PictureFault): string {
    const words = this.#from.words()
    const language = this.#from.language()
    const size = (bytes: number) => bytesText(bytes, language)
    switch (fault.reason) {
      case 'many':
        return say(words.pictureMany, { count: fault.count, most: fault.most }, language)
      case 'large':
        return say(
          words.pictureLarge,
          { name: fault.name, size: size(fault.size), most: size(fault.most) },
          language,
        )
      case 'other':
        return say(words.pictureOther, { name: fault.name }, language)
      case 'broken':
        return say(words.pictureBroken, { name: fault.name }, language)
      default:
        throw new TypeError(`unknown fault ${JSON.stringify(fault satisfies never)}`)
    }
  }
}

const picker = (
  name: 'attach' | 'camera',
  label: string,
  isCamera: boolean,
  onPicked: (event: Event) => void,
): TemplateResult =>
  html`<button type="button" class="quiet pick" part="button" aria-label=${label} title=${label}
      @click=${(event: Event) => ((event.currentTarget as HTMLElement).nextElementSibling as HTMLElement).click()}>${icon(name)}</button><input
      class="visually-hidden" type="file" accept="image/*" ?multiple=${!isCamera} capture=${isCamera ? 'environment' : nothing}
      tabindex="-1" aria-hidden="true" @change=${onPicked} />`

/**
 * A picture, drawn on a canvas: a policy that only allows the page's own images forbids addresses of files.
 * An earlier visit's picture is no longer there, so its name is shown.
 */
export function pictureView({ name, file }: EntryPicture, words: Words, language: string): TemplateResult {
  if (file === undefined)
    return html`<span class="gone" dir="auto">${say(words.pictureGone, { name }, language)}</span>`
  return html`<canvas part="picture" role="img" aria-label=${name} width="0" height="0"
    ${ref((canvas) => void draw(canvas as HTMLCanvasElement | undefined, file))}></canvas>`
}

/** The files on the canvases, so that a new rendering draws only new ones. */
const drawn = new WeakMap<HTMLCanvasElement, Blob>()

async function draw(canvas: HTMLCanvasElement | undefined, file: Blob): Promise<void> {
  if (canvas === undefined || drawn.get(canvas) === file) return
  drawn.set(canvas, file)
  const bitmap = await createImageBitmap(file).catch(() => undefined)
  if (bitmap === undefined) return
  const scale = Math.min(1, MAX_PIXELS / Math.max(bitmap.width, bitmap.height))
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
}

/** The pictures of a message. */
export const picturesView = (
  pictures: readonly EntryPicture[] | undefined,
  words: Words,
  language: string,
): TemplateResult | typeof nothing =>
  pictures === undefined
    ? nothing
    : html`<div class="pictures">${pictures.map((picture) => pictureView(picture, words, language))}</div>`
