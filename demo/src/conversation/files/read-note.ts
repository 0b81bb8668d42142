// Shows what the model reads of a question's files, or of a long prompt. This code loads when it is needed.
import { html, LitElement, type TemplateResult } from 'lit'
import { t } from '../../words/later-words.ts'
import { Speaks } from '../../words/words.ts'
import type { Read } from '../store/conversations.ts'
import { splitQuotes } from './attachments.ts'

/**
 * Lists each source once. Only a file's first source names the file; its other sources name only their place.
 */
function sourcesOf(names: readonly string[]): string {
  const unique = [...new Set(names)]
  return unique
    .map((name, index) => {
      const [, file = '', place = ''] = /^([^,]+, )(.+)$/.exec(name) ?? []
      return file !== '' && unique[index - 1]?.startsWith(file) ? place : name
    })
    .join('; ')
}

class ReadNote extends LitElement {
  static override properties = { read: { attribute: false } }
  declare read: Read

  constructor() {
    super()
    new Speaks(this)
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    const { read } = this
    switch (read.by) {
      case 'whole':
        return html`<p class="used">${t('readWhole')}</p>`
      case 'searching':
        return html`<p class="used" role="status">${t('searching', { done: read.done, all: read.all })}</p>`
      case 'prompt':
        return html`<label class="used">${t('readingPrompt', { done: read.done, all: read.all })}
          <progress max=${read.all} value=${read.done}></progress></label>`
      case 'words':
      case 'meaning': {
        const { files } = splitQuotes(read.text)
        const names = files.map(({ name }) => name)
        const values = { count: files.length, all: read.all, sources: sourcesOf(names) }
        return html`<details class="used">
          <summary dir="auto">${t(read.by === 'words' ? 'readByWords' : 'readByMeaning', values)}</summary>
          ${files.map(({ name, text }) => html`<p dir="auto"><b>${name}</b></p><blockquote dir="auto">${text}</blockquote>`)}
        </details>`
      }
      default:
        throw new TypeError(`unknown ${JSON.stringify(read satisfies never)}`)
    }
  }
}

customElements.define('read-note', ReadNote)
