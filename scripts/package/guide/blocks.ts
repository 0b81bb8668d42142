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
  /** The name above it, if the block is a file of an example. */
  readonly file?: string
  /** The fence's reason why no test runs the block, as in "ts no-run: it needs a phone". */
  readonly whyNotRun?: string
}

export const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs/guide'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/guide/${name}`),
]

/** A code block, and before it the name of its file in bold with its description. */
const FENCE = /((?:^\*\*([\w.]+)\*\*:[^`]*?\n)?)^```(\w*)( [^\n]*)?\n([\s\S]*?)^```$/gm

/** The number of the line that begins at `index`. */
const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length

export function blocksOf(page: string, text = readFileSync(join(ROOT, page), 'utf8')): Block[] {
  return [...text.matchAll(FENCE)].map((match) => {
    const [, head = '', file, language = '', note = '', code = ''] = match
    const line = lineAt(text, match.index + head.length) + 1
    const [, whyNotRun] = /^ no-run: (.*)$/.exec(note) ?? []
    if (note !== '' && whyNotRun === undefined) throw new Error(`${page}:${line - 1}: unknown note${note}`)
    return { page, line, language, text: code, ...(file && { file }), ...(whyNotRun && { whyNotRun }) }
  })
}

export const BLOCKS = PAGES.flatMap((page) => blocksOf(page))

/** Whether a block is a program or a page, not shell commands or data. */
export const isCode = ({ language }: Block): boolean => /^(?:[jt]sx?|html)$/.test(language)

/** Where a test runs a block; undefined if it isn't code or says `no-run`. */
export type Runner = 'page' | 'node' | 'vite' | 'vitest' | 'example'

export function runnerOf(block: Block): Runner | undefined {
  const { page, text, file, whyNotRun } = block
  if (whyNotRun !== undefined || !isCode(block)) return undefined
  // Specs write the files of an example and run them together.
  if (file !== undefined) return 'example'
  if (page === 'docs/guide/node.md') return 'node'
  if (/^export default \{/.test(text)) return 'vite'
  return /^test\(/m.test(text) ? 'vitest' : 'page'
}

/** An HTML page's module scripts, as separate blocks. */
export const scriptsOf = ({ page, line, text }: Block): Block[] =>
  [...text.matchAll(/<script type="module">\n([\s\S]*?)<\/script>/g)].map((match) => {
    const [, code = ''] = match
    return { page, line: line + lineAt(text, match.index), language: 'js', text: code }
  })
