// The states of a step: keys and values of earlier positions, or what recurrent layers keep. Checks that each
// comes out as the next step reads it.
import type { Input, Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Meaning } from '../meaning.ts'
import { textOf } from '../terms.ts'

export class States {
  readonly #inputs: readonly Input[]
  /** The value that has each state of keys or values with the step's own appended. */
  readonly #appended = new Map<string, Meaning>()
  /** The new value of each state of a recurrent layer, as text. */
  readonly #left = new Map<string, string>()

  /** `inputs`: those of the graph that are states. */
  constructor(inputs: readonly Input[]) {
    this.#inputs = inputs
  }

  /** Whether the graph has keys and values of earlier steps, or states of recurrent layers, as inputs. */
  get exist(): boolean {
    return this.#inputs.length > 0
  }

  get areRecurrent(): boolean {
    return this.#inputs.some(isRecurrentState)
  }

  /** Records that `meaning` is the state with the step's own positions after it. */
  append(node: Node, state: string, meaning: Meaning): void {
    if (this.#appended.has(state)) throw unclaimed(node, `it adds to the state ${state} a second time`)
    this.#appended.set(state, meaning)
  }

  /** Records what a recurrent layer leaves as its state for the next step. */
  leave(node: Node, state: string, text: string): void {
    if ((this.#left.get(state) ?? text) !== text)
      throw unclaimed(node, `it changes the state ${state} a second time`)
    this.#left.set(state, text)
  }

  /** Throws `unsupported` unless the next step gets the states as this step leaves them. */
  check(node: Node, outputs: readonly string[], meaningOf: Made['meaningOf']): void {
    const made = { meaningOf, appended: this.#appended, left: this.#left }
    const wrong = wronglyLeft(this.#inputs, outputs, made)
    if (wrong !== undefined) throw unclaimed(node, wrong)
  }
}

interface Made {
  meaningOf(name: string): Meaning | undefined
  /** The value that has each state of keys or values with the step's own appended. */
  readonly appended: ReadonlyMap<string, Meaning>
  /** The new value of each state of a recurrent layer, as text. */
  readonly left: ReadonlyMap<string, string>
}

/** A clause that describes the error, or undefined. Outputs begin with the logits. */
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
    if (!isRight) return `the output ${output || index + 1} is not what the step makes of the state ${state}`
  }
  return undefined
}

/**
 * The output that leaves each state for the next step, by the state's name. Keys and values are paired by the
 * numbers and kinds in their names, where all names have them; these and states of recurrent layers else by
 * their order after the logits. '': there is no such output.
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

/** States of recurrent layers are [batch, channels, n]; keys and values have another axis. */
export const isRecurrentState = ({ type }: Input): boolean => type?.dims?.length === 3

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
