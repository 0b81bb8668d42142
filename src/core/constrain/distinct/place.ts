// Places in a JSON text. In: its bytes, one after another. Out: the position in the text: the open
// containers, the values that must not occur again in each, and the values that may still equal the one being
// written. A place is immutable, so forks and searches share it. Values are compared as canonical texts:
// strings decoded, numbers by value, the properties of an object sorted.
import { utf8 } from '../code-points.ts'
import { isBlank } from '../grammar-nodes.ts'
import { Taken } from './taken.ts'

export interface Container {
  readonly outer: Container | undefined
  readonly isArray: boolean
  /** Checked items, or checked keys of an object. */
  readonly taken: Taken
  /** The canonical text of an array's items so far, with its bracket. */
  readonly items: string
  /** Complete properties, latest first. */
  readonly entries: Entries | undefined
  /** The key whose value comes next. */
  readonly key: string | undefined
  /** The values, other than containers, that the current one may still equal. */
  readonly rivals: readonly string[]
}

interface Entries {
  readonly entry: string
  readonly before: Entries | undefined
}

type Mode = 'between' | 'string' | 'escape' | 'unicode' | 'bare' | 'ended'

export interface Place {
  readonly mode: Mode
  readonly container: Container | undefined
  /** The decoded bytes of a string so far, or a number or word as written; after the end, the value. */
  readonly text: string
  /** Hex digits of an escape, and the first half of a surrogate pair. */
  readonly hex: string
  readonly lead: number
  /** Whether the value that ends here was checked. */
  readonly isChecked: boolean
}

export const START: Place = {
  mode: 'between',
  container: undefined,
  text: '',
  hex: '',
  lead: 0,
  isChecked: false,
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
)

/** The place after one more byte. */
export function step(place: Place, byte: number): Place {
  // hot
  switch (place.mode) {
    case 'string':
      if (byte === QUOTE) return { ...place, mode: 'ended', text: `${quoted(place.text)}"` }
      if (byte === BACKSLASH) return { ...place, mode: 'escape' }
      return { ...place, text: place.text + String.fromCharCode(byte) }
    case 'escape': {
      const char = String.fromCharCode(byte)
      if (char === 'u') return { ...place, mode: 'unicode', hex: '' }
      return { ...place, mode: 'string', text: place.text + (ESCAPES.get(char) ?? char) }
    }
    case 'unicode':
      return unicode(place, place.hex + String.fromCharCode(byte))
    case 'bare':
      if (isBlank(byte) || isPunctuation(byte)) return between(ended(place), byte)
      return { ...place, text: place.text + String.fromCharCode(byte), isChecked: false }
    case 'ended':
    case 'between':
      return between(place, byte)
    default:
      return place.mode satisfies never
  }
}

function unicode(place: Place, hex: string): Place {
  if (hex.length < 4) return { ...place, hex }
  const unit = Number.parseInt(hex, 16)
  if (unit >> 10 === 0x36) return { ...place, mode: 'string', hex: '', lead: unit }
  const point = unit >> 10 === 0x37 ? 0x10000 + ((place.lead & 0x3ff) << 10) + (unit & 0x3ff) : unit
  const text = place.text + String.fromCharCode(...utf8(point))
  return { ...place, mode: 'string', hex: '', lead: 0, text }
}

const isPunctuation = (byte: number) => byte === 0x2c || byte === 0x3a || byte === 0x5d || byte === 0x7d

/** A byte outside strings, numbers and words. */
function between(place: Place, byte: number): Place {
  if (isBlank(byte)) return place
  const container = place.mode === 'ended' ? committed(place) : place.container
  switch (String.fromCharCode(byte)) {
    case ',':
    case ':':
      return { ...START, container }
    case '[':
    case '{':
      return { ...START, container: opened(container, byte === 0x5b) }
    case ']':
    case '}':
      return {
        ...START,
        mode: 'ended',
        container: container?.outer,
        text: container ? closed(container) : '',
      }
    case '"':
      return { ...START, mode: 'string', container }
    default:
      return { ...START, mode: 'bare', container, text: String.fromCharCode(byte) }
  }
}

/** The place at the end of the value that is being written, if it can end there. */
export function ended(place: Place): Place {
  return place.mode === 'bare' ? { ...place, mode: 'ended', text: bareValue(place.text) } : place
}

const bareValue = (text: string) => (isNumeric(text) ? String(Number(text)) : text)
const isNumeric = (text: string) => /^[-\d]/.test(text)
/** The beginning of the canonical text of a string. */
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}`

function opened(outer: Container | undefined, isArray: boolean): Container {
  const bracket = isArray ? '[' : '{'
  return {
    ...{ outer, isArray, taken: Taken.none, items: isArray ? '[' : '', entries: undefined, key: undefined },
    rivals: outer?.isArray === true ? outer.taken.filter((value) => value.startsWith(bracket)) : [],
  }
}

/** The container after the value in it has ended. */
function committed({ container, text, isChecked }: Place): Container | undefined {
  if (container === undefined) return undefined
  const taken = isChecked ? container.taken.with(text) : container.taken
  if (container.isArray) {
    const items = nextItem(container) + text
    return { ...container, taken, items, rivals: container.rivals.filter((rival) => rival.startsWith(items)) }
  }
  if (container.key === undefined) return { ...container, taken, key: text }
  const entry = `${container.key}:${text}`
  return {
    ...container,
    ...{ taken, key: undefined, entries: { entry, before: container.entries } },
    rivals: container.rivals.filter((rival) => rival.includes(entry)),
  }
}

const nextItem = ({ items }: Container) => (items === '[' ? items : `${items},`)

function closed(container: Container): string {
  if (container.isArray) return `${container.items}]`
  const entries: string[] = []
  for (let at = container.entries; at !== undefined; at = at.before) entries.push(at.entry)
  return `{${entries.sort().join()}}`
}

/** Whether the value that ends here differs from the others of its container. */
export function isNew(place: Place): boolean {
  return place.container === undefined || !place.container.taken.has(ended(place).text)
}

/** The same place after the value that ends here has been checked. */
export function checked(place: Place): Place {
  return { ...place, isChecked: true }
}

/** False if no continuation, up to the end of the next checked value, can become equal to another value. */
export function isAtRisk({ container }: Place): boolean {
  if (container === undefined) return false
  if (container.taken.size > 0 && (container.isArray || container.key === undefined)) return true
  for (let at: Container | undefined = container; at !== undefined; at = at.outer) {
    if (at.rivals.length > 0) return true
  }
  return false
}

/**
 * Whether the value being written, or one that contains it, may still become equal to an earlier one. True if
 * this is uncertain.
 */
export function mayEqual(place: Place): boolean {
  const { container, mode } = place
  if (container === undefined) return false
  const part = partOf(place)
  const isOwn = mode !== 'between' && mode !== 'ended' && (container.isArray || container.key === undefined)
  if (isOwn && container.taken.some((value) => value.startsWith(part))) return true
  return mayContainersEqual(container, mode === 'ended' ? place.text : part)
}

/** The canonical beginning of the value being written, as far as it is certain. */
function partOf({ mode, text }: Place): string {
  if (mode === 'string' || mode === 'escape' || mode === 'unicode') return quoted(text)
  return mode === 'bare' && !isNumeric(text) ? text : ''
}

/** Whether an open container may become equal to another if its next part begins with `part`. */
function mayContainersEqual(container: Container, part: string): boolean {
  let next = part
  /** Properties of inner objects, which may be anywhere in their canonical texts. */
  const needles: string[] = []
  for (let at: Container | undefined = container; at !== undefined; at = at.outer) {
    const { isArray, key, rivals } = at
    const begin = isArray ? nextItem(at) + next : key === undefined ? next : `${key}:${next}`
    const has = (rival: string) => (isArray ? rival.startsWith(begin) : rival.includes(begin))
    if (rivals.some((rival) => has(rival) && needles.every((needle) => rival.includes(needle)))) return true
    if (!isArray) needles.push(begin)
    next = isArray ? begin : '{'
  }
  return false
}
