// What a user attaches to the next message: a list of named items, each with a button that removes it, and
// the errors of files that could not be attached.
import { html, nothing, type ReactiveController, type TemplateResult } from 'lit'
import type { ChatHost } from '../../chat/composer.ts'
import type { Words } from '../../words/english.ts'
import { say, type Values } from '../../words/message.ts'
import { icon } from './frame.ts'

export interface AttachmentSource {
  readonly words: () => Words
  /** For numbers and names. */
  readonly language: () => string
  readonly onAttached: () => void
}

export abstract class Attachments<Item extends { readonly name: string }, Source extends AttachmentSource>
  implements ReactiveController
{
  protected readonly host: ChatHost
  protected attached: readonly Item[] = []
  protected wrong = ''
  protected readonly from: Source

  constructor(host: ChatHost, from: Source) {
    this.host = host
    this.from = from
    host.addController(this)
  }

  hostDisconnected(): void {
    // A controller needs at least one of these methods.
  }

  get hasSome(): boolean {
    return this.attached.length > 0
  }

  /** The items of the message that is being sent. */
  take(): readonly Item[] {
    const taken = this.attached
    // The focus stays on Send.
    this.attached = []
    this.fail('')
    return taken
  }

  /** Attaches files, or says why not. */
  abstract attach(files: readonly File[]): Promise<void>

  protected fail(text: string): void {
    this.wrong = text
    this.host.requestUpdate()
  }

  protected say(word: keyof Words, values: Values = {}): string {
    return say(this.from.words()[word], values, this.from.language())
  }

  protected wrongView(): TemplateResult | typeof nothing {
    return this.wrong === '' ? nothing : html`<p class="wrong" role="alert">${this.wrong}</p>`
  }

  /** The items of the list, each with its `preview` before its name. */
  protected items(preview: (item: Item) => unknown = () => nothing): readonly TemplateResult[] {
    const remove = (item: Item) => {
      this.attached = this.attached.filter((other) => other !== item)
      this.fail('')
      this.from.onAttached()
    }
    return this.attached.map(
      (item) => html`<li>${preview(item)}<span dir="auto">${item.name}</span>
        <button type="button" class="quiet" part="button" aria-label=${this.say('removeName', { name: item.name })}
          @click=${() => remove(item)}>${icon('close')}</button></li>`,
    )
  }

  protected readonly onPicked = (event: Event): void => {
    const input = event.target as HTMLInputElement
    const files = [...(input.files ?? [])]
    // So that the same file can be picked again.
    input.value = ''
    if (files.length > 0) void this.attach(files)
  }
}

/** Opens the file picker behind a button. */
export const openPicker = ({ currentTarget }: Event): void =>
  ((currentTarget as HTMLElement).nextElementSibling as HTMLElement).click()
