// Pictures of messages. In: files that a user picks, pastes, drops or photographs. Out: the pictures of the
// next message, and their views.
import { html, nothing, type TemplateResult } from 'lit'
import { ref } from 'lit/directives/ref.js'
import { isTouch } from '../../chat/keys.ts'
import type { PictureFault } from '../../chat/picture-files.ts'
import { bytesText } from '../../chat/texts.ts'
import type { Words } from '../../words/english.ts'
import { say } from '../../words/message.ts'
import type { EntryPicture } from '../conversation/entries.ts'
import { type AttachmentSource, Attachments, openPicker } from './attachments.ts'
import { icon } from './frame.ts'

/** Maximum side of a drawn picture in pixels. A phone's photograph has ten times as many. */
const MAX_PIXELS = 640

interface PictureSource extends AttachmentSource {
  /** False if the model has no vision tower, undefined while that is unknown. */
  readonly sees: () => boolean | undefined
  /** Attaches the files that are documents, and returns the others. */
  readonly others: (files: readonly File[]) => readonly File[]
}

export class Pictures extends Attachments<EntryPicture, PictureSource> {
  /** Reads in progress. A message waits for them. */
  #reading = 0
  #isOver = false

  get isReading(): boolean {
    return this.#reading > 0
  }

  /** True while files are dragged over the chat. */
  get isOver(): boolean {
    return this.#isOver
  }

  async attach(files: readonly File[]): Promise<void> {
    const words = this.from.words()
    if (this.from.sees() === false) return this.fail(words.pictureBlind)
    this.#reading++
    this.fail('')
    try {
      const { picturesOf } = await import('../../chat/picture-files.ts')
      const read = await picturesOf(files, this.attached.length)
      if ('reason' in read) this.wrong = this.#faultText(read)
      else this.attached = [...this.attached, ...read]
    } catch {
      this.wrong = words['error-network']
    }
    this.#reading--
    this.host.requestUpdate()
    this.from.onAttached()
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
    const own = this.from.others(files)
    if (own.length > 0) void this.attach(own)
  }

  /** The attached pictures, and the errors of the others. */
  above(): TemplateResult {
    const words = this.from.words()
    const preview = (picture: EntryPicture) => pictureView(picture, words, this.from.language())
    return html`${this.wrongView()}
      ${this.hasSome ? html`<ul class="attached" part="attached" aria-label=${words.attached}>${this.items(preview)}</ul>` : nothing}`
  }

  /** The buttons that attach pictures; nothing unless the model is known to see. */
  buttons(): TemplateResult | typeof nothing {
    const words = this.from.words()
    if (this.from.sees() !== true) return nothing
    // The camera of a phone is not among the sources of every picture picker.
    return html`${picker('attach', words.attachPictures, false, this.onPicked)}
      ${isTouch() ? picker('camera', words.takePhoto, true, this.onPicked) : nothing}`
  }

  #over(isOver: boolean): void {
    if (isOver === this.#isOver) return
    this.#isOver = isOver
    this.host.requestUpdate()
  }

  #faultText(fault: PictureFault): string {
    const size = (bytes: number) => bytesText(bytes, this.from.language())
    switch (fault.reason) {
      case 'many':
        return this.say('pictureMany', { count: fault.count, most: fault.most })
      case 'large':
        return this.say('pictureLarge', { name: fault.name, size: size(fault.size), most: size(fault.most) })
      case 'other':
        return this.say('pictureOther', { name: fault.name })
      case 'broken':
        return this.say('pictureBroken', { name: fault.name })
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
      @click=${openPicker}>${icon(name)}</button><input
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

/** The file that each canvas shows, so that a new rendering draws only new files. */
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
