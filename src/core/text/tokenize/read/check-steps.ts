// Rejects the normaliser and the pre-tokeniser of a tokenizer.json if they might never terminate.
import { isCount, isObject, type JsonObject } from '../../../base/values.ts'
import { malformed, shown, type TokenizerSpec, unsupported } from '../../spec.ts'
import { checkGrowth, growthOf, MAX_STEPS } from './json-parts.ts'

const TYPES = {
  strings: { what: 'an array of strings', fits: isListOf('string') },
  numbers: { what: 'an array of numbers', fits: isListOf('number') },
  text: { what: 'a text', fits: (value: unknown) => typeof value === 'string' },
  number: { what: 'a number', fits: (value: unknown) => typeof value === 'number' },
  boolean: { what: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  object: { what: 'an object', fits: isObject },
}

const FIELDS: { readonly [Kind in TokenizerSpec['kind']]: Readonly<Record<string, keyof typeof TYPES>> } = {
  json: { tokenizer: 'object', config: 'object' },
  gguf: {
    tokens: 'strings',
    model: 'text',
    name: 'text',
    pre: 'text',
    merges: 'strings',
    scores: 'numbers',
    types: 'numbers',
    bosId: 'number',
    eosId: 'number',
    eotId: 'number',
    eomId: 'number',
    unknownId: 'number',
    addBos: 'boolean',
    addEos: 'boolean',
    addSpacePrefix: 'boolean',
    chatTemplate: 'text',
    toolTemplate: 'text',
    documentTemplate: 'text',
  },
}
/** Fields that every tokenizer must have. */
const REQUIRED: readonly string[] = ['tokens', 'model', 'tokenizer']

/** Treats null as absent. Throws `format` and names the invalid field. */
export function checkedSpec(value: unknown): TokenizerSpec {
  const given: JsonObject = isObject(value) ? value : {}
  const { kind } = given
  if (kind !== 'json' && kind !== 'gguf') throw malformed(`has the unknown type ${shown(kind)}`)
  const spec: Record<string, unknown> = { kind }
  for (const [key, type] of Object.entries(FIELDS[kind])) {
    const field = given[key] ?? undefined
    const { what, fits } = TYPES[type]
    if (field === undefined ? REQUIRED.includes(key) : !fits(field)) {
      throw malformed(`has ${shownItem(field, type)} for ${key} instead of ${what}`)
    }
    spec[key] = field
  }
  return spec as unknown as TokenizerSpec
}

function isListOf(type: string) {
  return (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === type)
}

/** The invalid value, or the invalid item of a list. */
function shownItem(field: unknown, type: string): string {
  if (!Array.isArray(field) || (type !== 'strings' && type !== 'numbers')) return shown(field)
  const at = field.findIndex((item) => `${typeof item}s` !== type)
  return `${shown(field[at])} at ${at}`
}

/** The library's object for one step, or for several. */
interface Step {
  readonly normalizers?: readonly (Step | null)[]
  readonly tokenizers?: readonly (Step | null)[]
  readonly config?: JsonObject
  readonly pattern?: RegExp | null
  readonly replacement?: unknown
  readonly str_rep?: unknown
  readonly _length?: unknown
}

/** Maximum number of characters that a step may insert; published steps insert one. */
const MAX_CHARACTERS = 256
/** `String.replaceAll` expands these in the replacement text; the library that trained the model does not. */
const REFERENCE = /\$[$&`'<\d]/

/**
 * Throws `format` for fields that are not strings. Throws `unsupported` for steps that together lengthen a
 * text too much, and for patterns whose time can grow faster than the square of a text's length.
 */
export function checkSteps(...parts: readonly unknown[]): void {
  const steps = parts.flatMap(leaves)
  if (steps.length > MAX_STEPS) {
    throw malformed(`has ${steps.length} steps to split text; the limit is ${MAX_STEPS}`)
  }
  checkGrowth(steps.reduce((growth, step) => growth * growthOfStep(step), 1))
}

function leaves(part: unknown): Step[] {
  const step = (part ?? {}) as Step
  return (step.normalizers ?? step.tokenizers)?.flatMap(leaves) ?? [step]
}

function growthOfStep({ config = {}, pattern, replacement, str_rep, _length = 1 }: Step): number {
  const { content, prepend } = config
  for (const text of [content, prepend, replacement, str_rep]) {
    if (text === undefined || text === null) continue
    if (typeof text !== 'string' || text.length > MAX_CHARACTERS || REFERENCE.test(text)) {
      throw malformed(
        `inserts ${shown(text)} into text, but at most ${MAX_CHARACTERS} characters are allowed`,
      )
    }
  }
  if (!isCount(_length) || _length === 0) throw malformed(`splits text every ${shown(_length)} characters`)
  if (pattern === null) throw malformed('splits text by an invalid pattern')
  // A UTF-16 unit has up to 3 bytes, and each becomes a character.
  if (config['type'] === 'ByteLevel') return 3
  const least = pattern ? checkPattern(pattern) : 1
  const written = `${content ?? str_rep ?? ''}`
  return least > 0 ? growthOf(written, least) : 1 + written.length
}

/** A part of a pattern, how often it may repeat and, for a group, its contents. */
interface Item {
  readonly min: number
  readonly max: number
  readonly body?: Branches | undefined
  /** True if the part does not consume any characters. */
  readonly isAssertion: boolean
}

type Branches = readonly (readonly Item[])[]

/** Repetitions of at least this many count as unlimited. */
const WIDE = 32
/**
 * Weight of an unlimited repetition that may have to backtrack. A choice between two branches has weight 1.
 */
const WIDE_WEIGHT = 8
const MAX_WEIGHT = 15

/**
 * The minimum number of characters that a pattern matches. Throws `unsupported` unless backtracking is
 * bounded: at most one unlimited repetition and a few choices.
 */
export function checkPattern({ source }: RegExp): number {
  const branches = parse(source)
  if (branches.some((branch) => weightOf([branch], false) > MAX_WEIGHT)) {
    throw unsupported(
      `splits text by the pattern ${shown(source)}, which may never finish`,
      'use the GGUF file of the model',
    )
  }
  return lengthOf(branches)
}

function lengthOf(branches: Branches): number {
  return Math.min(
    ...branches.map((items) =>
      items.reduce(
        (sum, { min, body, isAssertion }) => sum + (isAssertion ? 0 : min * (body ? lengthOf(body) : 1)),
        0,
      ),
    ),
  )
}

function isFixed(branches: Branches): boolean {
  return (
    branches.length === 1 &&
    branches[0]!.every(({ min, max, body }) => min === max && (!body || isFixed(body)))
  )
}

/** How much backtracking is possible. `isFollowed`: a part that may fail comes after it. */
function weightOf(branches: Branches, isFollowed: boolean): number {
  let most = 0
  for (const items of branches) {
    let weight = 0
    let canFail = isFollowed
    for (const { min, max, body, isAssertion } of items.toReversed()) {
      const varies = body !== undefined && max > 1 && !isFixed(body)
      if (varies && (canFail || min > 1)) return Number.POSITIVE_INFINITY
      if (canFail) weight += max > WIDE ? WIDE_WEIGHT : max - min
      if (canFail && body !== undefined && body.length > 1) weight += 1
      if (body !== undefined) weight += weightOf(body, canFail || isAssertion)
      canFail ||= min > 0
    }
    most = Math.max(most, weight)
  }
  return most
}

const GROUP = /\((?:\?(?:[:=!>]|<[=!]|<\w+>|[a-z-]+:))?/y
const ATOM = /\\[pPu]\{[^}]*\}|\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/uy
const QUANTIFIER = /([*+?])\??|\{(\d+)(,?)(\d*)\}\??/y

/** Parses a JavaScript pattern, which the library translated from Oniguruma's syntax. */
function parse(source: string): Branches {
  let at = 0
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (found !== null) at = pattern.lastIndex
    return found
  }
  const readBranches = (): Branches => {
    const branches: Item[][] = [[]]
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at++
        branches.push([])
        continue
      }
      const group = take(GROUP)?.[0]
      const body = group === undefined ? undefined : readBranches()
      if (group !== undefined) at++
      const atom = group ?? take(ATOM)?.[0] ?? ''
      const [, sign, from, comma, to] = take(QUANTIFIER) ?? []
      branches.at(-1)!.push({
        ...rangeOf(sign, from, comma, to),
        body,
        isAssertion: /^(?:\(\?<?[=!]|[\^$]|\\[bB])$/.test(atom),
      })
    }
    return branches
  }
  return readBranches()
}

function rangeOf(sign?: string, from?: string, comma?: string, to?: string): { min: number; max: number } {
  if (sign !== undefined)
    return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
  const min = from === undefined ? 1 : Number(from)
  return { min, max: comma ? (to ? Number(to) : Number.POSITIVE_INFINITY) : min }
}
