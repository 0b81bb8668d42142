// Step check. In: the library's normaliser and pre-tokeniser of a tokenizer.json. Out: an error where they could go on and on.
import { isCount, type JsonObject } from '../../base/values.ts'
import { malformed, shown, unsupported } from '../spec.ts'
import { checkGrowth, growthOf, MAX_STEPS } from './json-parts.ts'

/** What the library makes of one step, or of several. */
interface Step {
  readonly normalizers?: readonly (Step | null)[]
  readonly tokenizers?: readonly (Step | null)[]
  readonly config?: JsonObject
  readonly pattern?: RegExp | null
  readonly replacement?: unknown
  readonly str_rep?: unknown
  readonly _length?: unknown
}

/** Of what a step writes; published ones write one. */
const MAX_CHARACTERS = 256
/** `String.replaceAll` reads these in what it writes, other than the library that trained the model. */
const REFERENCE = /\$[$&`'<\d]/

/**
 * Throws `format` for fields that are not texts, `unsupported` for steps that together lengthen a text much, and for patterns
 * whose time can grow faster than with the square of a text.
 */
export function checkSteps(...parts: readonly unknown[]): void {
  const steps = parts.flatMap(leaves)
  if (steps.length > MAX_STEPS) {
    throw malformed(`has ${steps.length} steps to cut text; at most ${MAX_STEPS} are possible`)
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
      throw malformed(`writes ${shown(text)} into text, where up to ${MAX_CHARACTERS} characters are due`)
    }
  }
  if (!isCount(_length) || _length === 0) throw malformed(`cuts text every ${shown(_length)} characters`)
  if (pattern === null) throw malformed('cuts text by a pattern that is none')
  // A character has up to 3 bytes, and each of them becomes a character.
  if (config['type'] === 'ByteLevel') return 3
  const least = pattern ? checkPattern(pattern) : 1
  const written = `${content ?? str_rep ?? ''}`
  return least > 0 ? growthOf(written, least) : 1 + written.length
}

/** A part of a pattern and how often it may come; of a group what it is made of. */
interface Item {
  readonly min: number
  readonly max: number
  readonly body?: Branches | undefined
  /** It takes no character. */
  readonly isAssertion: boolean
}

type Branches = readonly (readonly Item[])[]

/** From here on a repetition counts as one without end. */
const WIDE = 32
/** What a repetition without end weighs that may have to give characters back, against a choice between two ways. */
const WIDE_WEIGHT = 8
const MAX_WEIGHT = 15

/**
 * The least a pattern matches, in characters. What is tried again when a later part fails is bounded: one repetition without
 * end and a few choices. Throws `unsupported` where it is not.
 */
export function checkPattern({ source }: RegExp): number {
  const branches = parse(source)
  if (branches.some((branch) => weightOf([branch], false) > MAX_WEIGHT)) {
    throw unsupported(
      `cuts text by the pattern ${shown(source)}, which may never come to an end`,
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

/** How much may be tried again; `isFollowed` when something that can fail comes after it. */
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

/** Reads a pattern of JavaScript, which the library has made of Oniguruma's. */
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
