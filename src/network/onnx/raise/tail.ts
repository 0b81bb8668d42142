// Finds the tail of a graph: the nodes from its last norm to the logits, where only wanted rows are needed.
import { type Graph, type Input, type Node, producersOf } from '../ir/graph.ts'
import type { Meaning } from './meaning.ts'
import { textOf } from './terms.ts'

interface Made {
  meaningOf(name: string): Meaning | undefined
  /** The value that has each state of keys or values with the step's own appended. */
  readonly grown: ReadonlyMap<string, Meaning>
  /** The new value of each state of a recurrent layer, as text. */
  readonly left: ReadonlyMap<string, string>
}

/** A clause that describes the error, or undefined. Outputs begin with the logits. */
export function wronglyLeft(
  states: readonly Input[],
  outputs: readonly string[],
  { meaningOf, grown, left }: Made,
): string | undefined {
  for (const [index, [state, output]] of [...outputsOfStates(states, outputs)].entries()) {
    const text = left.get(state)
    const keys = grown.get(state)
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

/** Norms. Wanted rows are selected before the last of them. */
const NORMS: ReadonlySet<string> = new Set([
  'RMSNormalization',
  'SimplifiedLayerNormalization',
  'LayerNormalization',
  'SkipSimplifiedLayerNormalization',
  'SkipLayerNormalization',
])
/** Operators that work on each row by itself, between the last norm and the logits. */
const ROW_WISE: ReadonlySet<string> = new Set([
  'MatMul',
  'MatMulNBits',
  'MatMulBnb4',
  'Gemm',
  'DynamicQuantizeMatMul',
  'MatMulInteger',
  'DynamicQuantizeLinear',
  'QuantizeLinear',
  'DequantizeLinear',
  'Add',
  'Mul',
  'Div',
  'Tanh',
  'Cast',
  'Identity',
  'Gather',
  'Slice',
  'Reshape',
  'Squeeze',
  'Unsqueeze',
])

/** From the weight of a norm of primitive operators to its mean. */
const NORM_STEPS = 7
const NORM_OPS: ReadonlySet<string> = new Set([
  'Mul',
  'Div',
  'Cast',
  'Sqrt',
  'Reciprocal',
  'Add',
  'Pow',
  'Sub',
])

/** Both ends included, in the direction of the computation; empty if another operator is in between. */
export function tailOf(graph: Graph): Node[] {
  const makers = producersOf(graph)
  const found: Node[] = []
  for (let name = graph.outputs[0] ?? ''; ; ) {
    const node = makers.get(name)
    if (node === undefined) return []
    found.unshift(node)
    if (NORMS.has(node.op)) return found
    // A norm of primitive operators begins where the mean is taken.
    if (node.op === 'Mul' && isNormed(graph, node, makers)) return found
    if (!ROW_WISE.has(node.op)) return []
    const next = node.inputs.find((each) => makers.has(each))
    if (next === undefined) return []
    name = next
  }
}

/** A product of a vector and a value whose mean was taken a few nodes before. */
function isNormed(graph: Graph, node: Node, makers: ReadonlyMap<string, Node>): boolean {
  if (!node.inputs.some((name) => graph.constants.get(name)?.dims.length === 1)) return false
  let near = new Set(node.inputs)
  for (let step = 0; step < NORM_STEPS; step++) {
    const nodes = [...near].map((name) => makers.get(name)).filter((each) => each !== undefined)
    if (nodes.some(({ op }) => op === 'ReduceMean')) return true
    near = new Set(nodes.filter(({ op }) => NORM_OPS.has(op)).flatMap(({ inputs }) => inputs))
  }
  return false
}
