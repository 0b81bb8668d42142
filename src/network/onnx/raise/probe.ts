// Computes a value that depends on neither weights nor tokens, for a step of given sizes, with the evaluator.
import type { Budget } from '../../../core/base/budget.ts'
import { evaluateInSteps } from '../evaluate.ts'
import type { Types } from '../infer.ts'
import { type Dim, evaluateDim } from '../ir/dims.ts'
import type { Graph, Input, Node } from '../ir/graph.ts'
import { intOf, unclaimed } from '../ir/operator.ts'
import { isFloat, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'
import { removeDead } from '../passes/redundant.ts'

/** A step's tokens, and the positions before them. */
export interface StepSizes {
  readonly tokens: number
  readonly past: number
}

/** The value of one of the graph's integer inputs in a run. */
type Given = 'zeros' | 'ones' | 'positions' | 'last' | 'total'

/** The nodes from which a value is computed. */
interface Part {
  readonly graph: Graph
  /** Shapes that inference knows. Values with these shapes may depend on weights, which are not read. */
  readonly shapes: ReadonlyMap<string, readonly Dim[]>
}

export class Prober {
  readonly #graph: Graph
  readonly #types: Types
  readonly #given: ReadonlyMap<string, Given>
  readonly #parts = new Map<string, Part>()
  readonly #budget: Budget
  #shapeless: ReturnType<typeof withoutShapes> | undefined

  constructor(graph: Graph, types: Types, budget: Budget) {
    this.#graph = graph
    this.#types = types
    this.#given = givenTo(graph)
    this.#budget = budget
  }

  /** Updates the known shapes of values. */
  readTypes(): void {
    this.#shapeless = undefined
  }

  /**
   * Ids are 0, masks are 1, positions and lengths are those of the step, and states are zeros. Throws what
   * the evaluator throws, `unsupported` for an operator without an entry, or the reason of an abort.
   */
  async value(name: string, sizes: StepSizes): Promise<Tensor> {
    const constant = this.#graph.constants.get(name)
    if (constant !== undefined && 'data' in constant) return constant
    const { graph, shapes } = this.part(name)
    const { inputs } = this.#graph
    const symbols = symbolsOf(inputs, sizes)
    const feeds = new Map<string, Tensor>()
    for (const [shape, dims] of shapes) {
      const known = dims.map((dim) => evaluateDim(dim, symbols)!)
      feeds.set(shape, tensorOf('i64', [known.length], known))
    }
    for (const input of graph.inputs)
      feeds.set(input.name, feedOf(input, this.#given.get(input.name), symbols, sizes))
    const steps = evaluateInSteps(graph, feeds, { budget: this.#budget })
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value.get(name)!
      await this.#budget.turn()
    }
  }

  /** Throws `unsupported` if the value depends on an input whose contents in a run are unknown. */
  part(name: string): Part {
    const known = this.#parts.get(name)
    if (known !== undefined) return known
    this.#budget.spend(this.#graph.nodes.length)
    this.#shapeless ??= withoutShapes(this.#graph, this.#types)
    const { shapes, nodes } = this.#shapeless
    const graph = removeDead.run({ ...this.#graph, nodes, outputs: [name] })
    const used = new Set([name, ...graph.nodes.flatMap(({ inputs }) => inputs)])
    const inputs = graph.inputs.filter((input) => used.has(input.name))
    for (const input of inputs) {
      if (isFloat(input.type?.dtype ?? 'f32') || this.#given.has(input.name)) continue
      const reader = graph.nodes.find((node) => node.inputs.includes(input.name)) ?? graph.nodes[0]
      if (reader !== undefined)
        throw unclaimed(
          reader,
          `${name} depends on the input ${input.name}, but only ids, masks, positions and lengths are known`,
        )
    }
    const kept = new Map([...shapes].filter(([shape]) => used.has(shape)))
    const part = { graph: { ...graph, inputs }, shapes: kept }
    this.#parts.set(name, part)
    return part
  }
}

/** The graph, with the shapes known from inference replaced by constants. */
function withoutShapes({ inputs, nodes }: Graph, types: Types) {
  const symbols = symbolsOf(inputs, { tokens: 1, past: 1 })
  const shapes = new Map<string, readonly Dim[]>()
  const others: Node[] = []
  for (const node of nodes) {
    const dims = node.op === 'Shape' && node.domain === '' ? types.get(node.inputs[0] ?? '')?.dims : undefined
    const isKnown = dims?.every((dim) => evaluateDim(dim, symbols) !== undefined)
    if (dims === undefined || !isKnown) others.push(node)
    else shapes.set(node.outputs[0]!, dims.slice(intOf(node, 'start', 0), intOf(node, 'end', dims.length)))
  }
  return { nodes: others, shapes }
}

/**
 * Ids, masks and positions are recognised by their names, and lengths because GroupQueryAttention reads them.
 */
function givenTo({ inputs, nodes }: Graph): ReadonlyMap<string, Given> {
  const lengths = new Map<string, Given>()
  for (const { op, inputs: read } of nodes) {
    if (op !== 'GroupQueryAttention') continue
    lengths.set(read[5] ?? '', 'last')
    lengths.set(read[6] ?? '', 'total')
  }
  return new Map(
    inputs.flatMap(({ name }): [string, Given][] => {
      const given = lengths.get(name) ?? givenByName(name)
      return given === undefined ? [] : [[name, given]]
    }),
  )
}

function givenByName(name: string): Given | undefined {
  if (/position/.test(name)) return 'positions'
  if (/mask/.test(name)) return 'ones'
  return /ids?$|type/.test(name) ? 'zeros' : undefined
}

/** Axis of the positions in keys and values [.., heads, past, dim]. */
const PAST_AXIS = -2

/** Batch is 1; the symbol of a state's positions is `past`; any other symbol is the total. */
function symbolsOf(inputs: readonly Input[], { tokens, past }: StepSizes): ReadonlyMap<string, number> {
  const symbols = new Map<string, number>()
  const set = (dim: Dim | undefined, value: number) => {
    if (typeof dim === 'string' && !symbols.has(dim)) symbols.set(dim, value)
  }
  const batchAxis = (type: Input['type']) => (type?.dims?.length === 5 ? 1 : 0)
  for (const { type } of inputs) set(type?.dims?.[batchAxis(type)], 1)
  for (const { name, type } of inputs) {
    if (isFloat(type?.dtype ?? 'i64') && (type?.dims?.length ?? 0) >= 4) set(type?.dims?.at(PAST_AXIS), past)
    else if (!isFloat(type?.dtype ?? 'f32') && !/mask/.test(name)) set(type?.dims?.[1], tokens)
  }
  for (const { type } of inputs)
    for (const dim of type?.dims ?? []) if (!/[ +*(]/.test(`${dim}`)) set(dim, past + tokens)
  return symbols
}

function feedOf(
  { type }: Input,
  given: Given | undefined,
  symbols: ReadonlyMap<string, number>,
  { tokens, past }: StepSizes,
): Tensor {
  const dtype = type?.dtype ?? 'i64'
  const dims = (type?.dims ?? []).map((dim) => evaluateDim(dim, symbols) ?? past + tokens)
  const made = zeros(dtype, dims)
  if (given === undefined || given === 'zeros' || isFloat(dtype)) return made
  const value = {
    ones: () => 1,
    positions: (at: number) => past + at,
    last: () => past + tokens - 1,
    total: () => past + tokens,
  }[given]
  return tensorOf(
    dtype,
    dims,
    Array.from({ length: made.data.length }, (_, at) => value(at)),
  )
}
