// Rendering Markdown. In: the blocks of a model's text. Out: a Lit template. Text becomes text nodes, never
// markup.
import { html, nothing, type TemplateResult } from 'lit'
import { guard } from 'lit/directives/guard.js'
import { repeat } from 'lit/directives/repeat.js'
import { copyFrom } from '../copy.ts'
import type { Block, Piece } from './markdown.ts'

/** The labels that rendering adds. */
interface MarkdownWords {
  readonly copyCode: string
  readonly table: string
  readonly formula: string
  /** Shown in place of a code block's language if it names none. */
  readonly code: string
}

/** Richer renderings of code and formulas, for pages that load the libraries. */
export interface RichForms {
  /** The content of a code block. Undefined: plain text. */
  readonly code?: (text: string, language: string) => TemplateResult | undefined
  /** A formula from TeX. Undefined: its source. */
  readonly formula?: (tex: string, isDisplay: boolean) => unknown
}

/** How texts are shown. If this object changes, everything is rendered again. */
interface MarkdownLook {
  readonly words?: MarkdownWords
  readonly rich?: RichForms | undefined
}

const ENGLISH: MarkdownWords = { copyCode: 'Copy code', table: 'Table', formula: 'Formula', code: 'code' }
const PLAIN: RichForms = {}

type Look = Required<MarkdownLook> & { readonly rich: RichForms }

/**
 * Renders a text's parts from `first` on. While an answer grows, only its last block is rendered again.
 * Earlier parts may be added later.
 */
export function renderMarkdown(
  parts: readonly (readonly Block[])[],
  first = 0,
  { words = ENGLISH, rich = PLAIN }: MarkdownLook = {},
): TemplateResult {
  const place = (_: unknown, index: number) => first + index
  const part = (blocks: readonly Block[]) =>
    html`<div class="part">${blocks.map((block) => renderBlock(block, { words, rich }))}</div>`
  return html`${repeat(parts.slice(first), place, part)}`
}

const renderBlock = ({ source, piece }: Block, look: Look) =>
  guard([source, look.words, look.rich], () => render(piece, look))

type Inside = TemplateResult | string

function render(piece: Piece, look: Look): TemplateResult {
  const inside = piece.children.map((part): Inside => (typeof part === 'string' ? part : render(part, look)))
  switch (piece.tag) {
    case 'p':
      return html`<p dir="auto">${inside}</p>`
    case 'h2':
      return html`<h2 dir="auto">${inside}</h2>`
    case 'h3':
      return html`<h3 dir="auto">${inside}</h3>`
    case 'ul':
      return html`<ul dir="auto">${inside}</ul>`
    case 'ol':
      return html`<ol dir="auto" start=${piece.start ?? 1}>${inside}</ol>`
    case 'li':
      return piece.isDone === undefined ? html`<li dir="auto">${inside}</li>` : task(piece.isDone, inside)
    case 'blockquote':
      return html`<blockquote dir="auto">${inside}</blockquote>`
    case 'hr':
      return html`<hr />`
    case 'br':
      return html`<br />`
    case 'pre':
      return code(piece, inside, look)
    case 'code':
      return html`<code>${inside}</code>`
    case 'table':
      return html`<div class="table" tabindex="0" role="region" aria-label=${look.words.table}><table>${inside}</table></div>`
    case 'thead':
      return html`<thead>${inside}</thead>`
    case 'tbody':
      return html`<tbody>${inside}</tbody>`
    case 'tr':
      return html`<tr>${inside}</tr>`
    case 'th':
      return html`<th dir="auto" class=${piece.align ?? nothing}>${inside}</th>`
    case 'td':
      return html`<td dir="auto" class=${piece.align ?? nothing}>${inside}</td>`
    case 'strong':
      return html`<strong>${inside}</strong>`
    case 'em':
      return html`<em>${inside}</em>`
    case 's':
      return html`<s>${inside}</s>`
    case 'a':
      return html`<a href=${piece.href ?? ''} target="_blank" rel="noopener noreferrer nofollow">${inside}</a>`
    case 'math':
      return formula(piece, look)
    case 'span':
      return html`<span>${inside}</span>`
    default:
      throw new TypeError(`unknown tag ${piece.tag satisfies never}`)
  }
}

function task(isDone: boolean, inside: readonly Inside[]): TemplateResult {
  return html`<li dir="auto" class="task">
    <input type="checkbox" disabled .checked=${isDone} aria-label=${isDone ? 'Done' : 'To do'} />${inside}
  </li>`
}

function formula({ children, isDisplay = false }: Piece, { words, rich }: Look): TemplateResult {
  const tex = children.join('')
  const shown = rich.formula?.(tex, isDisplay) ?? html`<code dir="ltr">${tex}</code>`
  return isDisplay
    ? html`<span class="formula" tabindex="0" role="group" aria-label=${words.formula}>${shown}</span>`
    : html`${shown}`
}

function code(
  { children, language = '' }: Piece,
  inside: readonly Inside[],
  { words: { copyCode: label, code: unnamed }, rich }: Look,
): TemplateResult {
  return html`<div class="code">
    <div class="code-head"><span>${language === '' ? unnamed : language}</span>
      <button type="button" class="small" @click=${(event: Event) => copyFrom(event, children.join(''))}>${label}</button></div>
    <pre tabindex="0" dir="ltr"><code>${rich.code?.(children.join(''), language) ?? inside}</code></pre>
  </div>`
}
