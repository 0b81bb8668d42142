// Replaces sequences whose lengths are known by their tensors, and optional values by what they hold. What
// remains builds a sequence for an output, or for a node whose position or length is not known yet.
import type { Budget } from '../../../core/base/budget.ts'
import { graphBudget } from '../graph-budget.ts'
import { inferTypes, type Types } from '../infer.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Graph, hasInput, isStored, type Node, readsOf, sizeOf } from '../ir/graph.ts'
import { flagOf, graphOf, intOf, scalarOf } from '../ir/operator.ts'
import { MOVED_DTYPES, numbersOf, type Tensor, tensorOf } from '../ir/tensor.ts'
import { areParts, partsOf, placeOf } from '../operators/values/sequences.ts'
import { whyUnclaimed } from '../operators.ts'
import { type Around, addConstant, freeName, inlined, namesIn } from './branches.ts'
import { type Pass, withNodes } from './pass.ts'
import { MAX_IN_GRAPH, MAX_NODES, STEP_UNITS, VERSION } from './unroll.ts'

export const resolveSequences: Pass = {
  name: 'sequences',
  run(graph, budget = graphBudget()) {
    if (!graph.nodes.some(isOfSequences)) return graph
    const resolution = new Resolution(graph, budget)
    const nodes = resolution.nodes()
    const next = withNodes(graph, nodes)
    return next === graph ? graph : { ...next, constants: resolution.around.constants }
  },
}

/** The names of a sequence's tensors; undefined for an optional value that is absent. */
type Items = readonly string[] | undefined

/** A node that defines a sequence or an optional value, which nothing may read any more. */
interface Definition {
  readonly node: Node
  readonly items: Items
}

class Resolution {
  readonly around: Around
  readonly #graph: Graph
  readonly #budget: Budget
  readonly #types: Types
  readonly #known = new Map<string, Items>()
  #size: number

  constructor(graph: Graph, budget: Budget) {
    this.around = { constants: new Map(graph.constants), names: new Set(namesIn(graph)) }
    this.#graph = graph
    this.#budget = budget
    this.#types = inferTypes(graph)
    this.#size = graph.nodes.length
  }

  nodes(): readonly Node[] {
    const parts = this.#graph.nodes.flatMap((node): (Node | Definition)[] => {
      if (whyUnclaimed(node) !== undefined) return [node]
      const resolve = node.domain === '' ? RESOLVERS.get(node.op) : undefined
      return resolve?.(node, this) ?? [node]
    })
    const wanted = new Set(this.#graph.outputs)
    for (const part of parts) if ('op' in part) for (const name of readsOf(part)) wanted.add(name)
    return parts.flatMap((part) => {
      if ('op' in part) return [part]
      const { node, items } = part
      if (!node.outputs.some((name) => wanted.has(name))) return []
      return [DEFINING.has(node.op) && node.outputs.length === 1 ? node : definition(node, items)]
    })
  }

  /** Undefined if the sequence is not known. */
  items(name: string | undefined): readonly string[] | undefined {
    return this.#known.get(name ?? '')
  }

  isAbsent(name: string | undefined): boolean {
    return name === undefined || name === '' || (this.#known.has(name) && this.items(name) === undefined)
  }

  isTensor(name: string): boolean {
    const dtype = this.#types.get(name)?.dtype
    return dtype !== undefined && MOVED_DTYPES.includes(dtype)
  }

  /** Sets what an output of the node is. */
  define(node: Node, items: Items, output = node.outputs[0]!): Definition[] {
    this.#budget.spend(items?.length ?? 0)
    this.#known.set(output, items)
    return [
      { node: output === node.outputs[0] && node.outputs.length === 1 ? node : only(node, output), items },
    ]
  }

  /** The node becomes a constant. */
  constant({ outputs: [output = ''] }: Node, tensor: Tensor): Node[] {
    this.around.constants.set(output, tensor)
    return []
  }

  /** A constant in memory. */
  tensor(name: string | undefined): Tensor | undefined {
    const constant = this.around.constants.get(name ?? '')
    return constant === undefined || isStored(constant) ? undefined : constant
  }

  /** The place that an input names; undefined if that is not known, or not one of `count`. */
  place(node: Node, input: number, omitted: number, count: number): number | undefined {
    const position = hasInput(node, input) ? scalarOf(this.tensor(node.inputs[input])) : omitted
    return position === undefined ? undefined : placeOf(position, count)
  }

  /** The size of an axis of a tensor. */
  axis(node: Node, name: string, axis: number): readonly [axis: number, size: number] | undefined {
    const dims = this.#types.get(name)?.dims
    if (dims === undefined) return undefined
    const own = axisOf(node, axis, dims.length)
    const size = dims[own]
    return typeof size === 'number' ? [own, size] : undefined
  }

  /** Whether there is room for `count` times as many nodes and names. Charges for them. */
  hasRoom(count: number, nodes: number, names: number): boolean {
    const size = count * nodes
    if (size > MAX_NODES || this.#size + size > MAX_IN_GRAPH) return false
    this.#budget.spend(STEP_UNITS * count * names)
    this.#size += size
    return true
  }
}

const only = (node: Node, output: string): Node => ({
  ...node,
  name: `${node.name}/${output}`,
  outputs: [output],
})

/** Operators of which the result is a definition already. */
const DEFINING: ReadonlySet<string> = new Set(['SequenceConstruct', 'SequenceEmpty'])

const made = (
  node: Node,
  op: string,
  inputs: readonly string[],
  outputs = node.outputs,
  attributes: Node['attributes'] = new Map(),
): Node => ({ ...node, op, version: VERSION, inputs, outputs, attributes })

function definition(node: Node, items: Items): Node {
  if (items === undefined)
    return node.op === 'Optional' ? node : { ...made(node, 'Optional', []), version: 15 }
  return made(node, items.length === 0 ? 'SequenceEmpty' : 'SequenceConstruct', items)
}

/** The nodes and definitions that replace a node; undefined if it stays. */
type Resolve = (node: Node, resolution: Resolution) => (Node | Definition)[] | undefined

/** Passes a value on, whatever it is. */
const passed: Resolve = (node, resolution) => {
  const [name = ''] = node.inputs
  const items = resolution.items(name)
  if (items !== undefined) return resolution.define(node, items)
  const isAbsent = resolution.isAbsent(name) && (name !== '' || node.op === 'Optional')
  // A run that asks for it fails, unless it is in a branch that is not taken.
  if (isAbsent && node.op !== 'OptionalGetElement') return resolution.define(node, undefined)
  return node.op !== 'Identity' && resolution.isTensor(name) ? [made(node, 'Identity', [name])] : undefined
}

/** Resolves a node whose first input is a known sequence. */
const ofItems =
  (resolve: (node: Node, items: readonly string[], resolution: Resolution) => ReturnType<Resolve>): Resolve =>
  (node, resolution) => {
    const items = resolution.items(node.inputs[0])
    return items === undefined ? undefined : resolve(node, items, resolution)
  }

const inserted = ofItems((node, items, resolution) => {
  const position = hasInput(node, 2) ? scalarOf(resolution.tensor(node.inputs[2])) : items.length
  const at = position === items.length ? position : resolution.place(node, 2, 0, items.length)
  return at === undefined ? undefined : resolution.define(node, items.toSpliced(at, 0, node.inputs[1]!))
})

const joined = ofItems((node, items, { around }) => {
  const axis = intOf(node, 'axis', 0)
  const attributes: Node['attributes'] = new Map([['axis', { kind: 'int', value: axis }]])
  if (items.length === 0) return undefined
  if (!flagOf(node, 'new_axis')) return [made(node, 'Concat', items, node.outputs, attributes)]
  const axes = addConstant(around, `${node.name} axis`, tensorOf('i64', [1], [axis]))
  const rows = items.map((name) => made(node, 'Unsqueeze', [name, axes], [freeName(around, `${name} row`)]))
  return [
    ...rows,
    made(
      node,
      'Concat',
      rows.flatMap(({ outputs }) => outputs),
      node.outputs,
      attributes,
    ),
  ]
})

const split: Resolve = (node, resolution) => {
  const { around } = resolution
  const [name = ''] = node.inputs
  const asked = resolution.tensor(node.inputs[1])
  if (hasInput(node, 1) && asked === undefined) return undefined
  const along = resolution.axis(node, name, intOf(node, 'axis', 0))
  if (along === undefined) return undefined
  const [axis, size] = along
  if (size > MAX_NODES) return undefined
  const parts = partsOf(size, asked && numbersOf(asked), asked?.dims.length === 0)
  if (parts.length === 0 || !areParts(parts, size) || !resolution.hasRoom(parts.length, 2, 4))
    return undefined
  const sizes = addConstant(around, `${node.name} sizes`, tensorOf('i64', [parts.length], parts))
  const pieces = parts.map((_, at) => freeName(around, `${name} part ${at}`))
  const nodes = [
    made(node, 'Split', [name, sizes], pieces, new Map([['axis', { kind: 'int', value: axis }]])),
  ]
  if (asked !== undefined || flagOf(node, 'keepdims', true))
    return [...nodes, ...resolution.define(node, pieces)]
  const axes = addConstant(around, `${node.name} axis`, tensorOf('i64', [1], [axis]))
  const items = pieces.map((piece) => freeName(around, `${piece} element`))
  const squeezed = pieces.map((piece, at) => made(node, 'Squeeze', [piece, axes], [items[at]!]))
  return [...nodes, ...squeezed, ...resolution.define(node, items)]
}

const mapped = ofItems((node, items, resolution) => {
  const body = graphOf(node, 'body')
  if (body === undefined || body.inputs.length !== node.inputs.length) return undefined
  const lists = node.inputs.map((name) => resolution.items(name))
  const isFit =
    node.inputs.every((name, at) => lists[at] !== undefined || resolution.isTensor(name)) &&
    lists.every((each) => each === undefined || each.length === items.length) &&
    body.outputs.length >= node.outputs.length
  const size = body.nodes.length + body.inputs.length
  if (!isFit || !resolution.hasRoom(items.length, size, sizeOf(body))) return undefined
  const steps = items.map((_, step) =>
    inlined(
      node,
      body,
      resolution.around,
      node.inputs.map((name, at) => lists[at]?.[step] ?? name),
    ),
  )
  return [
    ...steps.flatMap(({ nodes }) => nodes),
    ...node.outputs.flatMap((output, at) =>
      output === ''
        ? []
        : resolution.define(
            node,
            steps.map(({ outputs }) => outputs[at]!),
            output,
          ),
    ),
  ]
})

const RESOLVERS: ReadonlyMap<string, Resolve> = new Map([
  ['Identity', passed],
  ['Optional', passed],
  ['OptionalGetElement', passed],
  [
    'OptionalHasElement',
    (node, resolution) => {
      const [name = ''] = node.inputs
      const isPresent = resolution.items(name) !== undefined || resolution.isTensor(name)
      if (!isPresent && !resolution.isAbsent(name)) return undefined
      return resolution.constant(node, tensorOf('bool', [], [Number(isPresent)]))
    },
  ],
  ['SequenceEmpty', (node, resolution) => resolution.define(node, [])],
  ['SequenceConstruct', (node, resolution) => resolution.define(node, node.inputs)],
  ['SequenceInsert', inserted],
  [
    'SequenceErase',
    ofItems((node, items, resolution) => {
      const at = resolution.place(node, 1, -1, items.length)
      return at === undefined ? undefined : resolution.define(node, items.toSpliced(at, 1))
    }),
  ],
  [
    'SequenceAt',
    ofItems((node, items, resolution) => {
      const at = resolution.place(node, 1, 0, items.length)
      return at === undefined ? undefined : [made(node, 'Identity', [items[at]!])]
    }),
  ],
  [
    'SequenceLength',
    ofItems((node, items, resolution) => resolution.constant(node, tensorOf('i64', [], [items.length]))),
  ],
  ['SplitToSequence', split],
  ['ConcatFromSequence', joined],
  ['SequenceMap', mapped],
])

const isOfSequences = ({ op, domain }: Node): boolean =>
  domain === '' && op !== 'Identity' && RESOLVERS.has(op)
