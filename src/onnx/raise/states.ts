// States. In: the states that a graph gets and what it gives. Out: which of them does not come out as what
// the next step has to get.
import type { Meaning } from './meaning.ts'
import { textOf } from './terms.ts'

interface Made {
  meaningOf(name: string): Meaning | undefined
  /** What has each state of keys or values with the step's own after it. */
  readonly grown: ReadonlyMap<string, Meaning>
  /** What a step leaves of each state of a recurrent layer, as text. */
  readonly left: ReadonlyMap<string, string>
}

/** A clause, or undefined where all is well. States are in the order of inputs, outputs begin with logits. */
export function wronglyLeft(
  states: readonly string[],
  outputs: readonly string[],
  { meaningOf, grown, left }: Made,
): string | undefined {
  const pairs = namedPairs(states, outputs.slice(1))
  for (const [index, state] of states.entries()) {
    const [text, keys] = [left.get(state), grown.get(state)]
    const output = (text === undefined ? pairs?.get(state) : undefined) ?? outputs[index + 1] ?? ''
    const made = meaningOf(output)
    const isRight =
      text !== undefined
        ? made?.is === 'terms' && textOf(made) === text
        : keys === undefined || made === keys || isPresent(made, keys)
    if (!isRight) return `the output ${output || index + 1} is not what the step makes of the state ${state}`
  }
  return undefined
}

const isPresent = (made: Meaning | undefined, keys: Meaning): boolean =>
  made?.is === 'present' && keys.is === 'present' && made.of === keys.of

/** The output of each state by the numbers in its name and its kind; undefined where names do not say it. */
function namedPairs(
  states: readonly string[],
  outputs: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const byPlace = new Map(outputs.map((name) => [placeOf(name), name]))
  const places = new Set(states.map(placeOf))
  const isWhole = byPlace.size === outputs.length && places.size === states.length
  if (!isWhole || ![...places].every((place) => byPlace.has(place))) return undefined
  return new Map(states.map((name) => [name, byPlace.get(placeOf(name))!]))
}

/** `past_key_values.3.value` and `present.3.value` are both `3 v`. */
function placeOf(name: string): string {
  const short = name.replace(/key_?values?/i, '')
  const kind = /(?:^|[^a-z])(k|v)(?:ey|alue)?s?(?![a-z])/i.exec(short)?.[1]?.toLowerCase() ?? ''
  return `${(short.match(/\d+/g) ?? []).join('.')} ${kind}`
}
