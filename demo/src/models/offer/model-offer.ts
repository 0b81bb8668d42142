// The offer below a declined answer. In: the page's chat. Out: one button, which loads a model that may be
// able to answer and asks again, or opens a choice of such models.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { keepStored } from '../../../../src/index.ts'
import type { ChatLog } from '../../conversation/log.ts'
import { isOtherLanguage } from '../../conversation/other-language.ts'
import { chat } from '../../conversation/start.ts'
import type { Modal } from '../../shell/modal.ts'
import { t } from '../../words/later-words.ts'
import { Speaks } from '../../words/words.ts'
import { choiceName } from '../models.ts'
import { askAgainWith, awaited } from './ask-again.ts'
import './offer-dialog.ts'
import { type BestModel, bestModel, costOf, offeredModels } from './offered.ts'

class ModelOffer extends LitElement {
  static override properties = { best: { state: true } }
  /** Undefined until known; `choice`: the user has to choose. */
  declare best: BestModel | 'choice' | undefined

  constructor() {
    super()
    new Speaks(this)
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override connectedCallback(): void {
    super.connectedCallback()
    chat.addEventListener('change', this.#onChange)
    void this.#findBest()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    chat.removeEventListener('change', this.#onChange)
  }

  readonly #onChange = () => this.requestUpdate()

  async #findBest(): Promise<void> {
    const question = chat.conversation.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const best = await bestModel(offeredModels(), isOtherLanguage(question)).catch(() => undefined)
    this.best = best ?? 'choice'
  }

  protected override render(): TemplateResult | typeof nothing {
    const { model, isAnswering } = chat
    const { best } = this
    // If another model was loaded in the meantime, the message's own button asks it.
    const isOther = model.used !== undefined && model.used.choice.kind !== 'embedded'
    if (best === undefined || isOther) return nothing
    const address = model.phase.name === 'loading' ? awaited() : undefined
    const isWaiting = address !== undefined
    const said = isWaiting ? t('offerWaiting', { name: nameOf(address) }) : ''
    // The same button in both states, so that it keeps the focus.
    return html`<div class="offer">
      <button class=${isWaiting ? 'outline' : 'primary'} ?disabled=${isAnswering && !isWaiting}
        aria-haspopup=${best === 'choice' && !isWaiting ? 'dialog' : nothing}
        @click=${() => (isWaiting ? model.cancel() : this.#onClick(best))}>${isWaiting ? t('cancel') : labelOf(best)}</button>
      <p class="hint" role="status">${said}</p>
    </div>
    <offer-dialog @model=${(event: CustomEvent<string>) => askAgainWith(event.detail)}></offer-dialog>`
  }

  #onClick(best: BestModel | 'choice'): void {
    if (best === 'choice') return void this.querySelector<Modal>('offer-dialog')?.open()
    void keepStored()
    askAgainWith(best.address)
  }

  /** The offer appears below the answer, so the log scrolls to its end. */
  protected override updated(): void {
    document.querySelector<ChatLog>('chat-log')?.follow()
  }
}

function labelOf(best: BestModel | 'choice'): string {
  if (best === 'choice') return t('larger')
  const { address, download } = best
  if (download === undefined) return t('offerStored', { name: nameOf(address) })
  const [size, time] = costOf(download)
  return t('offerDownload', { name: download.title, size, time })
}

const nameOf = (address: string): string =>
  offeredModels().find((model) => model.address === address)?.title ??
  choiceName({ kind: 'address', address })

customElements.define('model-offer', ModelOffer)
