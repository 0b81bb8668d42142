// Code blocks of the manual. In: README.md and the pages of docs/guide. Out: each block with its language,
// its page and its line.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../../..')

export interface Block {
  /** Path from the top of the repository. */
  readonly page: string
  /** Of the block's first line of code, from 1. */
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

/** The module scripts of a page of HTML, as their own blocks. */
export const scriptsOf = ({ page, line, text }: Block): Block[] =>
  [...text.matchAll(/<script type="module">\n([\s\S]*?)<\/script>/g)].map((match) => {
    const [, code = ''] = match
    return { page, line: line + lineAt(text, match.index), language: 'js', text: code }
  })
