// Alternatives to the current model. In: the model in use. Out: a `model` event with one of the embedded
// or stored models.
import { html, type TemplateResult } from 'lit'
import { storedBytes } from '../../../src/index.ts'
import { CATALOGUE } from '../../../src/ui/chat/library.ts'
import { recentAddresses } from '../conversation/store/remember.ts'
import { Modal } from '../shell/modal.ts'
import { nextTask } from '../shell/tasks.ts'
import { bytes } from '../shell/units.ts'
import { t } from '../words/words.ts'
import { EMBEDDED, type ModelChoice } from './embedded.ts'
import { choiceName } from './models.ts'

interface Kept {
  readonly address: string
  readonly sizeBytes: number
}

class OtherDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    current: { attribute: false },
    kept: { state: true },
  }
  declare current: ModelChoice
  declare kept: readonly Kept[]
  protected override heading = 'askOther' as const

  override async open(): Promise<void> {
    const addresses = new Set([...recentAddresses(), ...CATALOGUE.map(({ address }) => address)])
    const all = await Promise.all(
      [...addresses].map(async (address) => ({
        address,
        sizeBytes: await storedBytes(address).catch(() => 0),
      })),
    )
    this.kept = all.filter(({ sizeBytes }) => sizeBytes > 0)
    await super.open()
  }

  protected override pieces(): readonly TemplateResult[] {
    const { current } = this
    const kept = this.kept.filter(({ address }) => current.kind !== 'address' || current.address !== address)
    return [
      html`<ul class="list models">
        ${EMBEDDED.filter((model) => model !== current).map((model) => this.#row(model, t(model.about)))}
        ${kept.map(({ address, sizeBytes }) =>
          this.#row({ kind: 'address', address }, t('onDevice', { size: bytes(sizeBytes) })),
        )}
      </ul>`,
    ]
  }

  #row(choice: ModelChoice, about: string): TemplateResult {
    return html`<li>
      <button class="choice" @click=${() => this.#choose(choice)}><b dir="auto">${choiceName(choice)}</b><small>${about}</small></button>
    </li>`
  }

  async #choose(choice: ModelChoice): Promise<void> {
    this.close()
    await nextTask()
    this.dispatchEvent(new CustomEvent('model', { detail: choice }))
  }
}

customElements.define('other-dialog', OtherDialog)
