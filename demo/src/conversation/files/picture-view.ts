// An image in a message. This code loads with the first displayed image.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { t } from '../../words/later-words.ts'
import type { Picture } from './attachments.ts'

/** Shows an image, which opens at full size in a separate tab. */
class PictureView extends LitElement {
  static override properties = {
    picture: { attribute: false },
    address: { state: true },
    isBroken: { state: true },
  }
  declare picture: Picture
  declare address: string | undefined
  declare isBroken: boolean

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#release()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    if (this.hasUpdated) this.#show()
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has('picture')) this.#show()
  }

  #show(): void {
    this.#release()
    this.isBroken = false
    this.address = URL.createObjectURL(this.picture.file)
  }

  #release(): void {
    if (this.address !== undefined) URL.revokeObjectURL(this.address)
    this.address = undefined
  }

  protected override render(): TemplateResult | typeof nothing {
    const { address, picture } = this
    if (address === undefined) return nothing
    if (this.isBroken) return html`<span role="status">${t('noPicture', { name: picture.name })}</span>`
    return html`<a href=${address} target="_blank" rel="noopener" title=${t('openPicture')}><img src=${address}
      alt=${picture.name} @error=${() => this.#fail()} /></a>`
  }

  #fail(): void {
    this.isBroken = true
  }
}

customElements.define('picture-view', PictureView)
