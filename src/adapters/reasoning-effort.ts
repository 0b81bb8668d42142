// Reasoning efforts. In: an API's effort, the variables of a chat template. Out: the variables' values, and
// what the template cannot express.
import type { JsonObject } from '../core/base/values.ts'

/** Variables with which templates turn thoughts on and off, and the value that turns them on. */
const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['enable_thinking', true],
  ['thinking', true],
  ['think', true],
  ['skip_reasoning', false],
  ['no_thinking', false],
])
/** The levels that templates support, by their names in the APIs. */
const LEVELS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    minimal: 'low',
    low: 'low',
    medium: 'medium',
    high: 'high',
    xhigh: 'high',
    max: 'high',
  }),
)

/** The values that keep a model from thinking. A template usually reads only some of them. */
export const WITHOUT_THOUGHT: JsonObject = Object.fromEntries(
  Array.from(SWITCHES, ([name, isOn]) => [name, !isOn]),
)

interface Effort {
  /** Values for the template's variables. */
  readonly given: JsonObject
  /** Which part of the effort could not be honoured, if any. */
  readonly lost?: string
  /** True if the caller gave no effort. */
  readonly isIgnored?: boolean
}

/** `known`: the variables that the template reads. */
export function effortOf(effort: string, known: readonly string[]): Effort {
  const switches = known.filter((name) => SWITCHES.has(name))
  const isOn = effort !== 'none'
  const turned = Object.fromEntries(switches.map((name) => [name, SWITCHES.get(name) === isOn]))
  const level = LEVELS.get(effort)
  if (isOn && level === undefined)
    return { given: {}, isIgnored: true, lost: `the effort "${effort}" is unknown` }
  if (isOn && known.includes('reasoning_effort')) {
    const given = { ...turned, reasoning_effort: level as string }
    return level === effort ? { given } : { given, lost: `the template gets the effort "${level}"` }
  }
  if (switches.length === 0) {
    const name = isOn ? 'a variable for it' : 'a variable that turns thinking off'
    return { given: {}, isIgnored: true, lost: `the chat template does not read ${name}` }
  }
  return isOn
    ? { given: turned, lost: 'the chat template can turn thinking on, but has no levels' }
    : { given: turned }
}
