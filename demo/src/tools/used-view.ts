// The steps of an answer: the calls of tools with their arguments and results. This code loads with the first
// such answer.
import { html, LitElement, type TemplateResult } from 'lit'
import { icon } from '../shell/icons.ts'
import { t } from '../words/later-words.ts'
import { Speaks } from '../words/words.ts'
import { toolLabel, type UsedTool } from './tools.ts'

/** Imported conversations may contain arbitrary values. */
const valueText = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

class UsedView extends LitElement {
  static override properties = { used: { attribute: false } }
  declare used: readonly UsedTool[]

  constructor() {
    super()
    new Speaks(this)
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    return html`<ul class="used" aria-label=${t('toolSteps')}>${this.used.map(stepView)}</ul>`
  }
}

function stepView({ name, arguments: given, result, state: known }: UsedTool): TemplateResult {
  const state = known ?? 'done'
  const label = toolLabel(name)
  const asked = Object.values(given).map(valueText).join(' ')
  const told = [asked, state === 'running' ? '' : result.replace(/^error: /, '')]
    .filter((part) => part !== '')
    .join(' → ')
  const named = {
    running: t('toolRunning', { name: label }),
    failed: t('toolFailed', { name: label }),
    done: label,
  }
  return html`<li class=${state} dir="auto">${state === 'done' ? '' : icon(state === 'failed' ? 'close' : 'again')}${named[state]}${told === '' ? '' : `: ${told}`}</li>`
}

customElements.define('used-view', UsedView)
