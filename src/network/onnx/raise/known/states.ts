// The states of a step: keys and values of earlier positions, or recurrent states. Checks that each is
// returned as the next step reads it.
import type { Input, Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Meaning } from '../meaning.ts'
import { textOf } from '../terms.ts'

export class States {
  readonly #inputs: readonly Input[]
  /** For each key or value state: the value with the step's own keys or values appended. */
  readonly #appended = new Map<string, Meaning>()
  /** The new value of each recurrent state, as text. */
  readonly #left = new Map<string, string>()

  /** `inputs`: the graph's inputs that are states. */
  constructor(inputs: readonly Input[]) {
    this.#inputs = inputs
  }

  /** Whether the graph's inputs include keys and values of earlier steps, or recurrent states. */
  get exist(): boolean {
    return this.#inputs.length > 0
  }

  get areRecurrent(): boolean {
    return this.#inputs.some(isRecurrentState)
  }

  /** Records that `meaning` is the state followed by the step's own positions. */
  append(node: Node, state: string, meaning: Meaning): void {
    if (this.#appended.has(state)) throw unclaimed(node, `it adds to the state ${state} a second time`)
    this.#appended.set(state, meaning)
  }

  /** Records a recurrent layer's state for the next step. */
  leave(node: Node, state: string, text: string): void {
    if ((this.#left.get(state) ?? text) !== text)
      throw unclaimed(node, `it changes the state ${state} a second time`)
    this.#left.set(state, text)
  }

  /** Throws `unsupported` unless the outputs return the states as this step leaves them. */
  check(node: Node, outputs: readonly string[], meaningOf: Made['meaningOf']): void {
    const made = { meaningOf, appended: this.#appended, left: this.#left }
    const wrong = wronglyLeft(this.#inputs, outputs, made)
    if (wrong !== undefined) throw unclaimed(node, wrong)
  }
}

interface Made {
  meaningOf(name: string): Meaning | undefined
  /** For each key or value state: the value with the step's own keys or values appended. */
  readonly appended: ReadonlyMap<string, Meaning>
  /** The new value of each recurrent state, as text. */
  readonly left: ReadonlyMap<string, string>
}

/** A clause that describes the error, or undefined. The first output is the logits. */
export function wronglyLeft(
  states: readonly Input[],
  outputs: readonly string[],
  { meaningOf, appended, left }: Made,
): string | undefined {
  for (const [index, [state, output]] of [...outputsOfStates(states, outputs)].entries()) {
    const text = left.get(state)
    const keys = appended.get(state)
    const made = meaningOf(output)
    const isRight =
      text !== undefined
        ? made?.is === 'terms' && textOf(made) === text
        : keys === undefined || made === keys || isPresent(made, keys)
    if (!isRight) return `the output ${output || index + 1} is not the step's new value of the state ${state}`
  }
  return undefined
}

/**
 * The output that leaves each state for the next step, by the state's name. Keys and values are paired by the
 * numbers and types in their names if all names have them. Otherwise they are paired by their order after the
 * logits, as recurrent states are. '' if there is no such output.
 */
export function outputsOfStates(states: readonly Input[], outputs: readonly string[]): Map<string, string> {
  const pairs = namedPairs(
    states.map(({ name }) => name),
    outputs.slice(1),
  )
  return new Map(
    states.map((state, index) => {
      const named = isRecurrentState(state) ? undefined : pairs?.get(state.name)
      return [state.name, named ?? outputs[index + 1] ?? '']
    }),
  )
}

/** Recurrent states are [batch, channels, n]; keys and values have a fourth axis. */
export const isRecurrentState = ({ type }: Input): boolean => type?.dims?.length === 3

const isPresent = (made: Meaning | undefined, keys: Meaning): boolean =>
  made?.is === 'present' && keys.is === 'present' && made.of === keys.of

/** The output of each state, paired by the number and type in the names; undefined if the names lack them. */
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
