// What a page sets. In: the text of an attribute, the value of a property. Out: the property's value, or an
// error that says what it must be.
import { wrongOption } from '../base/options.ts'
import { isCount, isObject } from '../base/values.ts'
import type { HalfbyteChatProps } from './element.ts'
import { ENGLISH } from './words.ts'

/** UTF-16 units of a text that the widget shows, and of the name under which a conversation is kept. */
const LONGEST = 10_000
const MOST_SUGGESTIONS = 100
const MOST_OPTIONS = 1000
const MOST_TOOLS = 1000
const MOST_DOCUMENTS = 100_000

/** A JSON list of texts, or texts with `|` between them. */
export function listOf(value: string | null): readonly string[] {
  if (value === null) return []
  try {
    const parsed: unknown = JSON.parse(value)
    if (Array.isArray(parsed)) return parsed.map(String)
  } catch {
    // It is no JSON, so it is plain text.
  }
  return value
    .split('|')
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

interface Kind {
  readonly isRight: (value: unknown) => boolean
  /** Completes "must be". */
  readonly wanted: string
}

const choice = (...choices: readonly string[]): Kind => ({
  isRight: (value) => choices.includes(value as string),
  wanted: choices.join(' or '),
})
const list = (most: number, of: string, isRight: (value: unknown) => boolean): Kind => ({
  isRight: (value) => Array.isArray(value) && value.length <= most && value.every(isRight),
  wanted: `a list of up to ${most} ${of}`,
})
const isText = (value: unknown): boolean => typeof value === 'string'
const isShort = (value: unknown): boolean => typeof value === 'string' && value.length <= LONGEST
const maybe = (isRight: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isRight(value)

const TEXT: Kind = { isRight: isShort, wanted: `a text of up to ${LONGEST} characters` }
const SWITCH: Kind = { isRight: (value) => typeof value === 'boolean', wanted: 'true or false' }
/** Every option can be read. */
const OPTIONS: Kind = {
  isRight: (value) => isObject(value) && Object.values(value).length <= MOST_OPTIONS,
  wanted: 'an object of options',
}

/** The load and the reply check the model and what is in their options. */
const KINDS: { readonly [Name in Exclude<keyof HalfbyteChatProps, 'model' | 'engine'>]: Kind } = {
  system: { isRight: isText, wanted: 'a text' },
  heading: TEXT,
  placeholder: TEXT,
  name: TEXT,
  mode: choice('inline', 'bubble'),
  theme: choice('inherit', 'auto', 'light', 'dark'),
  keep: choice('none', 'tab', 'device'),
  share: choice('page', 'tabs'),
  open: SWITCH,
  autoload: SWITCH,
  downloadBytes: { isRight: isCount, wanted: 'a whole number of bytes' },
  suggestions: list(MOST_SUGGESTIONS, `texts of up to ${LONGEST} characters`, isShort),
  tools: list(
    MOST_TOOLS,
    'objects with a name and a function run',
    (tool) => isObject(tool) && isText(tool['name']) && typeof tool['run'] === 'function',
  ),
  documents: list(
    MOST_DOCUMENTS,
    'texts, or objects with a text, a title and a url',
    (it) =>
      isText(it) ||
      (isObject(it) && isText(it['text']) && maybe(isText)(it['title']) && maybe(isText)(it['url'])),
  ),
  loadOptions: OPTIONS,
  generateOptions: OPTIONS,
  messages: {
    isRight: (value) => isObject(value) && Object.keys(ENGLISH).every((name) => maybe(isShort)(value[name])),
    wanted: `an object of texts of up to ${LONGEST} characters`,
  },
}

/** Throws `unsupported` if the property `name` cannot have this value. */
export function checkProperty(name: PropertyKey, value: unknown): void {
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof typeof KINDS] : undefined
  if (kind === undefined) return
  let isRight = false
  try {
    isRight = kind.isRight(value)
  } catch {
    // A proxy or a getter of the page throws.
  }
  if (!isRight) throw wrongOption(String(name), value, kind.wanted)
}
