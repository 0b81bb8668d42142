// Code blocks in the manual. In: README.md and the pages of docs/guide. Out: each block with its language,
// its page and its line.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../../..')

export interface Block {
  /** Path from the repository's root. */
  readonly page: string
  /** Line number of the block's first line of code, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
}

export const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs/guide'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/guide/${name}`),
]

/** The number of the line that begins at `index`. */
const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length

export function blocksOf(page: string, text = readFileSync(join(ROOT, page), 'utf8')): Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, language = '', code = ''] = match
    return { page, line: lineAt(text, match.index) + 1, language, text: code }
  })
}

export const BLOCKS = PAGES.flatMap((page) => blocksOf(page))

/** An HTML page's module scripts, as separate blocks. */
export const scriptsOf = ({ page, line, text }: Block): Block[] =>
  [...text.matchAll(/<script type="module">\n([\s\S]*?)<\/script>/g)].map((match) => {
    const [, code = ''] = match
    return { page, line: line + lineAt(text, match.index), language: 'js', text: code }
  })
