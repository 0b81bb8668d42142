// The choice of a model for a question that the embedded model declined. Out: an event `model` with its
// address.
import { html, type TemplateResult } from 'lit'
import { keepStored } from '../../../../src/index.ts'
import { Modal } from '../../shell/modal.ts'
import { nextTask } from '../../shell/tasks.ts'
import { t } from '../../words/later-words.ts'
import type { PageModel } from '../page-pack.ts'
import { costOf, offeredModels } from './offered.ts'

class OfferDialog extends Modal {
  protected override heading = 'larger' as const

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<p class="hint">${t('offerMore')}</p>
        <ul class="list models">${offeredModels().map(this.#row)}</ul>
        <p class="hint">${t('catalogueMore')}</p>`,
    ]
  }

  readonly #row = (model: PageModel): TemplateResult => html`<li>
    <button class="choice" @click=${() => this.#choose(model.address)}>
      <b dir="auto">${model.title}</b>
      <small>${model.about}</small>
      <small>${[...costOf(model), model.licence].join(' · ')}</small>
    </button>
  </li>`

  async #choose(address: string): Promise<void> {
    void keepStored()
    this.close()
    // Closing moves the focus, which causes layout, so loading starts in the next task.
    await nextTask()
    this.dispatchEvent(new CustomEvent('model', { detail: address }))
  }
}

customElements.define('offer-dialog', OfferDialog)
