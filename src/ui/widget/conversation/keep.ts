// Stores conversations. In: the entries, and where to store them. Out: the same entries on the next visit.
import { parseJson } from '../../../core/base/json.ts'
import { isCount, isObject } from '../../../core/base/values.ts'
import type { Place } from '../../documents/passages.ts'
import type { Entry } from './entries.ts'

/** `tab`: until the tab closes; `device`: until it is cleared. */
export type Keep = 'none' | 'tab' | 'device'

/** Maximum number of stored messages. Only the newest are stored. */
const MAX_ENTRIES = 200

/**
 * The entries to store while an answer streams: with its text so far, as if it were stopped here. The page
 * may close before the answer ends.
 */
export function unfinished(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.at(-1)
  if (last?.role !== 'assistant') return entries
  const before = entries.slice(0, -1)
  return last.content === '' ? before : [...before, { ...last, ending: 'stopped' }]
}

/** Where the conversation `name` is stored. If storage is denied, nothing is stored. */
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

  /** False if storage is full or denied. The conversation continues without it. */
  write(entries: readonly Entry[]): boolean {
    try {
      if (entries.length === 0) this.#storage?.removeItem(this.#key)
      else this.#storage?.setItem(this.#key, JSON.stringify(entries.slice(-MAX_ENTRIES), withoutFiles))
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
  [value['passages'], value['toolRuns'], value['documents'], value['pictures']].every(
    (list) => list === undefined || isListOfObjects(list),
  )

const isListOfObjects = (value: unknown): boolean => Array.isArray(value) && value.every(isObject)

/** Files cannot be written as JSON, and would soon fill the storage. */
const withoutFiles = (_: string, value: unknown): unknown => (value instanceof Blob ? undefined : value)

/**
 * Reads only displayed fields, and only strings where strings are displayed: other scripts of the page can
 * write there too.
 */
function plain({ role, content, documents, pictures, thoughts, ending, passages, toolRuns }: Entry): Entry {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return {
    role,
    content,
    ...(documents !== undefined && {
      documents: documents.map((document) => ({
        name: text(document.name) ?? '',
        text: text(document.text) ?? '',
      })),
    }),
    ...(pictures !== undefined && { pictures: pictures.map(({ name }) => ({ name: text(name) ?? '' })) }),
    ...(typeof thoughts === 'string' && { thoughts }),
    ...((ending === 'stopped' || ending === 'length' || ending === 'loop') && { ending }),
    ...(passages !== undefined && {
      passages: passages.map(({ text: quoted, title, url, place }) => ({
        text: text(quoted) ?? '',
        title: text(title),
        url: text(url),
        ...(isObject(place) && { place: plainPlace(place) }),
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

function plainPlace({ page, headings, lines, rows }: Place): Place {
  const isRange = (value: unknown): value is readonly [number, number] =>
    Array.isArray(value) && value.length === 2 && value.every(isCount)
  const isList = Array.isArray(headings) && headings.every((heading) => typeof heading === 'string')
  return {
    ...(isCount(page) && { page }),
    ...(isList && { headings }),
    ...(isRange(lines) && { lines }),
    ...(isRange(rows) && { rows }),
  }
}
