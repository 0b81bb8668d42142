// Highlighting. In: code and its language. Out: a template with spans; every text stays a text node.
import type { RootContent } from 'hast'
import { html, nothing, type TemplateResult } from 'lit'
import { common, createLowlight } from 'lowlight'

const lowlight = createLowlight(common)
/** Maximum characters of highlighted code: highlighting more would block the page. */
const MOST = 20_000

/** Undefined for an unknown language or very long code. */
export function highlight(text: string, language: string): TemplateResult | undefined {
  const name = language.toLowerCase()
  if (text.length > MOST || !lowlight.registered(name)) return undefined
  return html`${lowlight.highlight(name, text).children.map(shown)}`
}

function shown(node: RootContent): TemplateResult | string | typeof nothing {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return nothing
  const names = [node.properties['className'] ?? []].flat().join(' ')
  return html`<span class=${names}>${node.children.map(shown)}</span>`
}
