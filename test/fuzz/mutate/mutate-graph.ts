// Semantic changes to ONNX graphs. In: a valid model. Out: the well-formed model with one or two changes
// (nodes inside If or Loop, tensors shared between nodes, other constants, other operators), and a
// description of the changes.
import type { Random } from '../../helpers/random.ts'
import {
  ATTRIBUTE,
  BYTES,
  GRAPH,
  INPUT,
  INPUT_VALUE,
  messageOf,
  NAME,
  NODE,
  NODE_NAME,
  OP,
  OUTPUT,
  OUTPUT_VALUE,
  type Part,
  part,
  partsOf,
  RAW,
  TENSOR,
  TENSOR_NAME,
  TENSOR_TYPE,
  textOf,
  textsOf,
  varint,
} from './proto-parts.ts'

const FLOAT = 1
const INT64 = 7
const BOOL = 9
/** An attribute that is a graph. */
const GRAPH_KIND = 5

const nodeOf = (op: string, inputs: readonly string[], outputs: readonly string[], more: Part[] = []): Part =>
  part(
    NODE,
    messageOf([
      ...inputs.map((name) => part(INPUT, name)),
      ...outputs.map((name) => part(OUTPUT, name)),
      part(NODE_NAME, outputs[0] ?? op),
      part(OP, op),
      ...more,
    ]),
  )
const graphAttribute = (name: string, graph: readonly Part[]): Part =>
  part(ATTRIBUTE, messageOf([part(1, name), part(6, messageOf(graph)), varint(20, GRAPH_KIND)]))
const scalarOf = (name: string, type: number, raw: Uint8Array): Part =>
  part(TENSOR, messageOf([varint(TENSOR_TYPE, type), part(TENSOR_NAME, name), part(RAW, raw)]))
const named = (number: number, name: string): Part => part(number, messageOf([part(1, name)]))

/** Returns the graph's fields with one change, or undefined if the change does not apply to the node. */
type Change = (random: Random, graph: readonly Part[], at: number) => readonly Part[] | undefined

const wrappedInIf: Change = (_, graph, at) => {
  const node = partsOf(graph[at]!.value)
  const outputs = textsOf(node, OUTPUT)
  const branch = (prefix: string): Part[] => {
    const renamed = node.map((each) => (each.number === OUTPUT ? part(OUTPUT, prefix + textOf(each)) : each))
    return [
      part(NODE, messageOf(renamed)),
      part(NAME, prefix),
      ...outputs.map((name) => named(OUTPUT_VALUE, prefix + name)),
    ]
  }
  const name = `yes_${at}`
  const branches = [
    graphAttribute('then_branch', branch('then_')),
    graphAttribute('else_branch', branch('else_')),
  ]
  return [...graph.with(at, nodeOf('If', [name], outputs, branches)), scalarOf(name, BOOL, Uint8Array.of(1))]
}

/** The loop passes the first input through once or twice. */
const wrappedInLoop: Change = (random, graph, at) => {
  const node = partsOf(graph[at]!.value)
  const [carried = '', ...rest] = textsOf(node, INPUT)
  const [output = '', ...others] = textsOf(node, OUTPUT)
  if (carried === '' || output === '' || others.length > 0) return undefined
  const body = [
    nodeOf('Identity', ['goes'], ['goes_on']),
    nodeOf(
      textsOf(node, OP)[0]!,
      ['round', ...rest],
      ['made'],
      node.filter(({ number }) => ![INPUT, OUTPUT, NODE_NAME, OP].includes(number)),
    ),
    part(NAME, 'body'),
    ...['i', 'goes', 'round'].map((name) => named(INPUT_VALUE, name)),
    ...['goes_on', 'made'].map((name) => named(OUTPUT_VALUE, name)),
  ]
  const count = `trip_${at}`
  const yes = `goes_${at}`
  const loop = nodeOf('Loop', [count, yes, carried], [output], [graphAttribute('body', body)])
  const trips = new Uint8Array(BigInt64Array.of(random.chance(0.7) ? 1n : 2n).buffer)
  return [...graph.with(at, loop), scalarOf(count, INT64, trips), scalarOf(yes, BOOL, Uint8Array.of(1))]
}

/** Replaces one of the node's inputs with one that another node reads. */
const shared: Change = (random, graph, at) => {
  const node = partsOf(graph[at]!.value)
  const inputs = node.flatMap(({ number }, index) => (number === INPUT ? [index] : []))
  const same = graph.filter(({ number }) => number === NODE).map(({ value }) => partsOf(value))
  const [op] = textsOf(node, OP)
  const alike = same.filter((each) => each !== node && textsOf(each, OP)[0] === op)
  const names = textsOf(random.pick(random.chance(0.7) && alike.length > 0 ? alike : same), INPUT)
  if (inputs.length === 0 || names.length === 0) return undefined
  const index = random.pick(inputs)
  const place = inputs.indexOf(index)
  const name = random.chance(0.7) ? (names[place] ?? random.pick(names)) : random.pick(names)
  return graph.with(at, part(NODE, messageOf(node.with(index, part(INPUT, name)))))
}

const KIN: readonly (readonly string[])[] = [
  ['Add', 'Sub', 'Mul', 'Div', 'Min', 'Max', 'Pow', 'Mod'],
  ['Less', 'LessOrEqual', 'Greater', 'GreaterOrEqual', 'Equal'],
  ['And', 'Or', 'Xor'],
  ['Sin', 'Cos', 'Neg', 'Abs', 'Sigmoid', 'Tanh', 'Relu', 'Erf', 'Sqrt', 'Identity', 'Exp', 'Floor'],
  ['ReduceMean', 'ReduceSum', 'ReduceMax', 'ReduceL2'],
]

const otherOperator: Change = (random, graph, at) => {
  const node = partsOf(graph[at]!.value)
  const kin = KIN.find((each) => each.includes(textsOf(node, OP)[0] ?? ''))
  if (kin === undefined) return undefined
  const made = node.map((each) => (each.number === OP ? part(OP, random.pick(kin)) : each))
  return graph.with(at, part(NODE, messageOf(made)))
}

/** Short tensors of the graph and of its Constant nodes; their values are often sizes. */
const otherConstant: Change = (random, graph) => {
  const short = graph.flatMap((each, index) =>
    (each.number === TENSOR ||
      (each.number === NODE && textsOf(partsOf(each.value), OP)[0] === 'Constant')) &&
    each.value.length < 200
      ? [index]
      : [],
  )
  if (short.length === 0) return undefined
  const index = random.pick(short)
  return graph.with(index, { ...graph[index]!, value: withNumber(random, graph[index]!.value) })
}

const LENGTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 47, 48, 49, 64, 1024]
const FACTORS = [0, -1, 0.5, 0.99, 1.01, 2, 10]

/** Replaces one number of the tensor, or of the tensor inside the message. */
function withNumber(random: Random, message: Uint8Array): Uint8Array {
  const parts = partsOf(message)
  const raw = parts.findIndex(({ number, type }) => number === RAW && type === BYTES)
  const type = parts.find((each) => each.number === TENSOR_TYPE && each.type === 0)?.value[0]
  if (raw < 0 || (type !== INT64 && type !== FLOAT)) {
    const inner = parts.findIndex((each) => each.number === ATTRIBUTE && each.type === BYTES)
    if (inner < 0) return message
    return messageOf(parts.with(inner, { ...parts[inner]!, value: withNumber(random, parts[inner]!.value) }))
  }
  const bytes = parts[raw]!.value.slice()
  const view = new DataView(bytes.buffer)
  const count = Math.floor(bytes.length / (type === INT64 ? 8 : 4))
  const at = random.below(Math.max(1, count))
  if (count > 0 && type === INT64) {
    const near = view.getBigInt64(at * 8, true) + random.pick([-2n, -1n, 1n, 2n])
    view.setBigInt64(at * 8, random.chance(0.5) ? near : BigInt(random.pick(LENGTHS)), true)
  } else if (count > 0) view.setFloat32(at * 4, view.getFloat32(at * 4, true) * random.pick(FACTORS), true)
  return messageOf(parts.with(raw, { ...parts[raw]!, value: bytes }))
}

const CHANGES = { wrappedInIf, wrappedInLoop, shared, otherOperator, otherConstant }

/** Tries until something changes, because an unchanged file tests nothing. */
const MAX_TRIES = 8

/** `change`: what was changed, and in which operator. */
export function mutateGraph(random: Random, good: Uint8Array): { bytes: Uint8Array; change: string } {
  const model = partsOf(good)
  const at = model.findIndex(({ number }) => number === GRAPH)
  for (let left = MAX_TRIES; ; left--) {
    const { graph, change } = mutateOnce(random, partsOf(model[at]!.value))
    const bytes = messageOf(model.with(at, part(GRAPH, messageOf(graph))))
    if (left === 0 || Buffer.compare(bytes, good) !== 0) return { bytes, change }
  }
}

/** One or two changes. */
function mutateOnce(random: Random, good: readonly Part[]): { graph: readonly Part[]; change: string } {
  let graph = good
  const made: string[] = []
  for (let left = random.few(2); left > 0; left--) {
    const node = random.pick(graph.flatMap(({ number }, index) => (number === NODE ? [index] : [])))
    const kind = random.pick(Object.keys(CHANGES) as (keyof typeof CHANGES)[])
    const [op = ''] = textsOf(partsOf(graph[node]!.value), OP)
    const next = CHANGES[kind](random, graph, node)
    if (next === undefined) continue
    graph = next
    made.push(kind === 'otherConstant' ? kind : `${kind} ${op}`)
  }
  return { graph, change: made.join(', ') }
}
