// Keeping conversations. In: what is shown, where the page keeps it. Out: the same on the next visit.
import { parseJson } from '../../../core/base/json.ts'
import { isCount, isObject } from '../../../core/base/values.ts'
import type { Entry } from './entries.ts'

/** `tab`: until the tab closes; `device`: until it is cleared. */
export type Keep = 'none' | 'tab' | 'device'

/** Messages that are kept: the newest. */
const MOST_ENTRIES = 200

/**
 * The entries to keep while an answer grows: with what there is of it, as if it were stopped here. The page
 * may end before the answer does.
 */
export function unfinished(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.at(-1)
  if (last?.role !== 'assistant') return entries
  const before = entries.slice(0, -1)
  return last.content === '' ? before : [...before, { ...last, ending: 'stopped' }]
}

/** Where the conversation `name` of a page is kept. Storage may be refused: then nothing is kept. */
export class Kept {
  readonly #keep: Keep
  readonly #key: string

  constructor(keep: Keep, name: string) {
    this.#keep = keep
    this.#key = `halfbyte-chat:${name}`
  }

  isFor(keep: Keep, name: string): boolean {
    return keep === this.#keep && this.#key === `halfbyte-chat:${name}`
  }

  read(): readonly Entry[] {
    try {
      const text = this.#storage?.getItem(this.#key)
      const entries = typeof text === 'string' ? parseJson(text) : []
      return Array.isArray(entries) ? entries.filter(isEntry).map(plain) : []
    } catch {
      return []
    }
  }

  /** False if the storage is full or refused. The conversation goes on without it. */
  write(entries: readonly Entry[]): boolean {
    try {
      if (entries.length === 0) this.#storage?.removeItem(this.#key)
      else this.#storage?.setItem(this.#key, JSON.stringify(entries.slice(-MOST_ENTRIES)))
      return true
    } catch {
      return false
    }
  }

  get #storage(): Storage | undefined {
    if (this.#keep === 'none') return undefined
    return this.#keep === 'tab' ? globalThis.sessionStorage : globalThis.localStorage
  }
}

const isEntry = (value: unknown): value is Entry =>
  isObject(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  typeof value['content'] === 'string' &&
  [value['passages'], value['toolRuns']].every((list) => list === undefined || isListOfObjects(list))

const isListOfObjects = (value: unknown): boolean => Array.isArray(value) && value.every(isObject)

/** Only what is shown, and only texts where texts are shown: other scripts of the page write there too. */
function plain({ role, content, thoughts, ending, passages, toolRuns }: Entry): Entry {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return {
    role,
    content,
    ...(typeof thoughts === 'string' && { thoughts }),
    ...((ending === 'stopped' || ending === 'length') && { ending }),
    ...(passages !== undefined && {
      passages: passages.map(({ text: quoted, title, url, part, parts }) => ({
        text: text(quoted) ?? '',
        title: text(title),
        url: text(url),
        ...(isCount(part) && isCount(parts) && { part, parts }),
      })),
    }),
    ...(toolRuns !== undefined && {
      toolRuns: toolRuns.map((run) => ({
        name: text(run.name) ?? '',
        label: text(run.label) ?? '',
        arguments: isObject(run.arguments) ? run.arguments : {},
        state: run.state === 'done' ? ('done' as const) : ('failed' as const),
        result: text(run.result),
      })),
    }),
  }
}
