// The evaluator: computes the outputs of a graph node by node, in plain TypeScript. It defines the meaning of
// a graph; models run as plans, and networks as programs.
import type { Budget } from '../../core/base/budget.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { memo } from '../../core/base/values.ts'
import { graphBudget } from './graph-budget.ts'
import { type Graph, isStored, type Node, readsOf } from './ir/graph.ts'
import { checkAxes, type Evaluate, unclaimed, unfit } from './ir/operator.ts'
import { BITS, type DType, isFloat, rounder, type Tensor } from './ir/tensor.ts'
import { NONE, StringList, withOwnStrings } from './ir/values.ts'
import { operatorName } from './operator-table.ts'
import { operatorOf, whyUnclaimed } from './operators.ts'

/** Looks up a name's value in a graph or its enclosing graphs. */
type Lookup = (name: string) => Tensor | undefined

/** Evaluators for operators whose entries have none, by `operatorName`. */
export type Evaluators = ReadonlyMap<string, Evaluate>
const NO_EVALUATORS: Evaluators = new Map()

/** What evaluation needs besides graphs and values. */
export interface Resources {
  /** What evaluation needs besides graphs and values. */
  readonly budget?: Budget | undefined
  readonly evaluators?: Evaluators | undefined
}

/**
 * The outputs, in the graph's order. Throws `unsupported` for a node that no operator covers, `format` for
 * missing or mismatched inputs, `out-of-memory` for a value of more than `MAX_ELEMENTS` or if the budget is
 * exceeded.
 */
export function evaluate(
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  resources: Resources = {},
): ReadonlyMap<string, Tensor> {
  const steps = evaluateInSteps(graph, feeds, resources)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Like `evaluate`, but pauses after each node, so that the caller can check for an abort. */
export function* evaluateInSteps(
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  { budget = graphBudget(), evaluators = NO_EVALUATORS }: Resources = {},
): Generator<void, ReadonlyMap<string, Tensor>> {
  const run = new Run(budget, evaluators)
  try {
    const optional = new Set(graph.inputs.flatMap(({ name, isOptional }) => (isOptional ? [name] : [])))
    const made = yield* run.steps(graph, (name) => feeds.get(name) ?? (optional.has(name) ? NONE : undefined))
    return new Map(graph.outputs.map((name, index) => [name, withOwnStrings(made[index]!)]))
  } finally {
    run.end()
  }
}

/** One node's outputs for these inputs. `outer`: what graphs in its attributes read. Default: nothing. */
export function evaluateNode(
  node: Node,
  inputs: readonly (Tensor | undefined)[],
  { budget = graphBudget(), evaluators = NO_EVALUATORS }: Resources = {},
  outer: Lookup = () => undefined,
): readonly (Tensor | undefined)[] {
  const run = new Run(budget, evaluators)
  try {
    return run.node(node, inputs, outer).map((made) => made && withOwnStrings(made))
  } finally {
    run.end()
  }
}

/** Work units of a node in addition to its elements, and of one run of its nested graph. */
const NODE_UNITS = 512

/** One evaluation: a graph with its nested graphs. */
class Run {
  readonly #budget: Budget
  readonly #evaluators: Evaluators
  /** Reference counts of buffers: from names in running graphs, and from values carried by loops. */
  readonly #readers = new Map<ArrayBufferLike, number>()
  readonly #strings = new StringList((bytes) => {
    this.#stringBytes += bytes
    this.#budget.hold(bytes)
  })
  #stringBytes = 0

  constructor(budget: Budget, evaluators: Evaluators) {
    this.#budget = budget
    this.#evaluators = evaluators
  }

  /** Each tensor is held until it has been dropped as often as kept. */
  keep(tensors: readonly (Tensor | undefined)[]): void {
    for (const tensor of tensors) {
      if (tensor === undefined) continue
      if (tensor.items !== undefined) this.keep(tensor.items)
      const { buffer } = tensor.data
      const readers = this.#readers.get(buffer) ?? 0
      this.#readers.set(buffer, readers + 1)
      if (readers === 0) this.#budget.hold(buffer.byteLength)
    }
  }

  drop(tensors: readonly (Tensor | undefined)[]): void {
    for (const tensor of tensors) {
      if (tensor === undefined) continue
      if (tensor.items !== undefined) this.drop(tensor.items)
      const { buffer } = tensor.data
      const readers = this.#readers.get(buffer)! - 1
      if (readers > 0) this.#readers.set(buffer, readers)
      else if (this.#readers.delete(buffer)) this.#budget.release(buffer.byteLength)
    }
  }

  /** The caller owns whatever is still held. */
  end(): void {
    for (const { byteLength } of this.#readers.keys()) this.#budget.release(byteLength)
    this.#readers.clear()
    this.#budget.release(this.#stringBytes)
    this.#stringBytes = 0
  }

  /** The graph's outputs, which the caller drops. A value is dropped when its last reader has run. */
  *steps(graph: Graph, outer: Lookup): Generator<void, readonly Tensor[]> {
    const values = new Map<string, Tensor>()
    const lookup: Lookup = (name) => {
      const constant = graph.constants.get(name)
      if (constant !== undefined && isStored(constant)) throw stored(name)
      return values.get(name) ?? outer(name) ?? constant
    }
    const lastReads = lastReadsOf(graph)
    for (const node of graph.nodes) {
      const inputs = node.inputs.map((name) => {
        if (name === '') return undefined
        const value = lookup(name)
        if (value === undefined) throw unfit(node, `it reads ${name}, which no earlier node produces`)
        return value
      })
      const made = this.node(node, inputs, lookup)
      for (const [index, name] of node.outputs.entries()) {
        const tensor = made[index]
        if (name === '' || tensor === undefined) continue
        this.keep([tensor])
        this.drop([values.get(name)])
        values.set(name, tensor)
      }
      for (const name of lastReads.get(node) ?? []) {
        this.drop([values.get(name)])
        values.delete(name)
      }
      yield
    }
    const outputs = graph.outputs.map((name) => {
      const value = lookup(name)
      if (value !== undefined) return this.#strings.of(value)
      throw new HalfbyteError(
        'format',
        `graph ${graph.name}: no node produces its output ${name}; export it again`,
        { output: name },
      )
    })
    this.keep(outputs)
    this.drop([...values.values()])
    return outputs
  }

  /** `lookup` finds the values visible to the graphs in the node's attributes. */
  node(node: Node, given: readonly (Tensor | undefined)[], lookup: Lookup): readonly (Tensor | undefined)[] {
    const inputs = given.map((tensor) => tensor && this.#strings.of(tensor))
    const why = whyUnclaimed(
      node,
      inputs.map((input) => input?.dtype),
    )
    if (why !== undefined) throw unclaimed(node, why)
    const compute = operatorOf(node)!.evaluate ?? this.#evaluators.get(operatorName(node))
    if (compute === undefined) throw unclaimed(node, 'it cannot be computed while a model is read')
    const budget = this.#budget
    // A slice reads only as much as it outputs.
    budget.spend(NODE_UNITS + (node.op === 'Slice' ? 0 : unitsOf(inputs)))
    // Values of its nested graphs are held until the node itself is done.
    const carried = new Map<Tensor, number>()
    const count = (tensor: Tensor, by: number) => carried.set(tensor, (carried.get(tensor) ?? 0) + by)
    const made = compute({
      node,
      inputs,
      spend: (units) => budget.spend(units),
      run: (graph, given) => {
        budget.spend(NODE_UNITS)
        const named = new Map(graph.inputs.map(({ name }, index) => [name, given[index]]))
        const steps = this.steps(graph, (name) => named.get(name) ?? lookup(name))
        for (;;) {
          const { done, value } = steps.next()
          if (!done) continue
          for (const tensor of value) count(tensor, 1)
          return value
        }
      },
      drop: (tensors) => {
        for (const tensor of tensors) count(tensor, -1)
        this.drop(tensors)
      },
    }).map((tensor) => tensor && this.#strings.of(rounded(tensor)))
    budget.spend(unitsOf(made))
    for (const tensor of made) checkAxes(node, tensor?.dims)
    for (const [tensor, readers] of carried)
      for (let reader = 0; reader < readers; reader++) this.drop([tensor])
    return made
  }
}

/** Graphs are evaluated once per step, and loop bodies many times within one. */
const LAST_READS = new WeakMap<Graph, ReadonlyMap<Node, readonly string[]>>()

/** The values of a graph that neither a later node nor the caller reads. */
function lastReadsOf(graph: Graph): ReadonlyMap<Node, readonly string[]> {
  return memo(LAST_READS, graph, () => {
    const later = new Set(graph.outputs)
    const last = new Map<Node, readonly string[]>()
    for (const node of graph.nodes.toReversed()) {
      const names = new Set([...readsOf(node), ...node.outputs].filter((name) => !later.has(name)))
      last.set(node, [...names])
      for (const name of names) later.add(name)
    }
    return last
  })
}

/** Converting or rounding the elements one by one would take about four times as long. */
const SLOW: readonly DType[] = ['i64', 'u64', 'f16', 'bf16']
const SLOW_UNITS = 4

const unitsOf = (tensors: readonly (Tensor | undefined)[]): number =>
  tensors.reduce((sum, tensor) => {
    if (tensor === undefined) return sum
    if (tensor.items !== undefined) return sum + tensor.items.length
    return sum + tensor.data.length * (SLOW.includes(tensor.dtype) ? SLOW_UNITS : 1)
  }, 0)

function rounded(tensor: Tensor): Tensor {
  if (BITS[tensor.dtype] >= 32 || !isFloat(tensor.dtype)) return tensor
  return { ...tensor, data: (tensor.data as Float32Array).map(rounder(tensor.dtype)) }
}

const stored = (name: string): HalfbyteError =>
  new HalfbyteError(
    'internal',
    `the weight ${name} is still in its file, where the evaluator cannot read it`,
    {
      name,
    },
  )
