// Unrolls each Loop or Scan whose number of steps is known.
import type { Budget } from '../../../core/base/budget.ts'
import { graphBudget } from '../graph-budget.ts'
import { inferTypes } from '../infer.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Constant, type Graph, isStored, type Node, sizeOf } from '../ir/graph.ts'
import { graphOf } from '../ir/operator.ts'
import { type Tensor, tensorOf } from '../ir/tensor.ts'
import { type Along, scanningOf, single } from '../operators/flow.ts'
import { whyUnclaimed } from '../operators.ts'
import { type Around, addConstant, freeName, inlined, namesIn } from './branches.ts'
import { type Pass, withNodes } from './pass.ts'

/** Maximum number of nodes in all steps of one loop: a longer plan would take longer to make than to run. */
export const MAX_NODES = 2048
/** Maximum number of nodes in a graph in which loops are still unrolled. */
export const MAX_IN_GRAPH = 16_384
/** Work units per name of a body per step, for renaming and type inference. */
export const STEP_UNITS = 64
/** The opset of the new nodes. */
export const VERSION = 13

/** What a Loop or Scan computes in each step. */
interface Steps {
  readonly count: number
  readonly body: Graph
  /** Values that are carried into the first step. */
  readonly carried: readonly string[]
  /** How many of the body's outputs come before the carried ones. */
  readonly skipped: number
  /** How the other outputs are stacked. Default: along a new first axis. */
  readonly stacks?: readonly Along[]
  /** The body's inputs in a step, given the values carried over from the step before. */
  inputsOf(step: number, carried: readonly string[]): readonly string[]
}

export const unrollLoops: Pass = {
  name: 'loops',
  run(graph, budget = graphBudget()) {
    if (!graph.nodes.some(isLoop)) return graph
    const unrolling = new Unrolling(graph, budget)
    const nodes = graph.nodes.flatMap(
      (node) => (isLoop(node) ? unrolling.unrolled(node) : undefined) ?? [node],
    )
    const next = withNodes(graph, nodes)
    return next === graph ? graph : { ...next, constants: unrolling.around.constants }
  },
}

const isLoop = ({ op, domain }: Node): boolean => domain === '' && (op === 'Loop' || op === 'Scan')

class Unrolling {
  readonly around: Around
  readonly #graph: Graph
  readonly #budget: Budget
  #size: number
  #made: Node[] = []

  constructor(graph: Graph, budget: Budget) {
    this.#graph = graph
    this.#budget = budget
    this.#size = graph.nodes.length
    this.around = { constants: new Map(graph.constants), names: new Set(namesIn(graph)) }
  }

  /** The nodes of all steps. Undefined if the number of steps is unknown or too large. */
  unrolled(node: Node): readonly Node[] | undefined {
    const steps = whyUnclaimed(node) === undefined ? this.#stepsOf(node) : undefined
    if (steps === undefined) return undefined
    const { count, body, carried, skipped } = steps
    const isFit =
      body.inputs.length === node.inputs.length &&
      body.outputs.length >= skipped + node.outputs.length &&
      !carried.includes('')
    const size = count * (body.nodes.length + body.inputs.length)
    const isStacked = node.outputs.slice(carried.length).some((name) => name !== '')
    // Without steps, the shape of a stacked output is unknown.
    if (!isFit || (count === 0 && isStacked)) return undefined
    if (size > MAX_NODES || this.#size + size > MAX_IN_GRAPH) return undefined
    this.#budget.spend(STEP_UNITS * count * sizeOf(body))
    this.#made = []
    let state = carried
    const stacked: string[][] = []
    for (let step = 0; step < count; step++) {
      const made = inlined(node, body, this.around, steps.inputsOf(step, state))
      this.#made.push(...made.nodes)
      state = made.outputs.slice(skipped, skipped + carried.length)
      stacked.push(made.outputs.slice(skipped + carried.length))
    }
    for (const [at, name] of node.outputs.entries()) {
      if (name === '') continue
      if (at < carried.length) this.#node(node, 'Identity', [state[at]!], name)
      else
        this.#join(
          node,
          name,
          stacked.map((each) => each[at - carried.length]!),
          steps.stacks?.[at - carried.length],
        )
    }
    this.#size += this.#made.length
    return this.#made
  }

  #stepsOf(node: Node): Steps | undefined {
    return node.op === 'Loop' ? this.#loop(node) : this.#scan(node)
  }

  #loop(node: Node): Steps | undefined {
    const body = graphOf(node, 'body')
    const [count, condition] = node.inputs.slice(0, 2).map((name) => this.#known(name)) as [
      Tensor | undefined,
      Tensor | undefined,
    ]
    const isOpen = node.inputs[1] === '' || isTrue(condition)
    if (body === undefined || count?.data.length !== 1 || !isOpen || !staysTrue(body)) return undefined
    return {
      count: Math.max(0, Number(count.data[0])),
      body,
      carried: node.inputs.slice(2),
      skipped: 1,
      inputsOf: (step, carried) => [
        addConstant(this.around, `${node.name} number`, tensorOf('i64', single(body, 0), [step])),
        addConstant(this.around, `${node.name} number`, tensorOf('bool', single(body, 1), [1])),
        ...carried,
      ],
    }
  }

  #scan(node: Node): Steps | undefined {
    const body = graphOf(node, 'body')
    const { states, sources, stacks } = scanningOf(node, node.inputs.length)
    const types = inferTypes(this.#graph)
    const scanned = sources.map(({ axis, isBackward }, at) => {
      const name = node.inputs[states + at]!
      const dims = types.get(name)?.dims
      return { name, axis, isBackward, size: dims?.[axisOf(node, axis, dims.length)] }
    })
    const count = scanned[0]?.size
    if (body === undefined || typeof count !== 'number' || scanned.some(({ size }) => size !== count))
      return undefined
    return {
      count,
      body,
      carried: node.inputs.slice(0, states),
      skipped: 0,
      stacks,
      inputsOf: (step, carried) => [
        ...carried,
        ...scanned.map(({ name, axis, isBackward }) => {
          const at = isBackward ? count - 1 - step : step
          const index = addConstant(this.around, `${node.name} number`, tensorOf('i64', [], [at]))
          const made = freeName(this.around, `${name} ${step}`)
          return this.#node(node, 'Gather', [name, index], made, axisIs(axis))
        }),
      ],
    }
  }

  /** Stacks the steps' outputs along a new axis. */
  #join(
    node: Node,
    output: string,
    parts: readonly string[],
    { axis, isBackward }: Along = { axis: 0, isBackward: false },
  ): void {
    const axes = addConstant(this.around, `${node.name} number`, tensorOf('i64', [1], [axis]))
    const rows = parts.map((name) =>
      this.#node(node, 'Unsqueeze', [name, axes], freeName(this.around, `${name} row`)),
    )
    this.#node(node, 'Concat', isBackward ? rows.reverse() : rows, output, axisIs(axis))
  }

  #node(
    { name }: Node,
    op: string,
    inputs: readonly string[],
    output: string,
    attributes: Node['attributes'] = new Map(),
  ): string {
    this.#made.push({ name, op, domain: '', version: VERSION, inputs, outputs: [output], attributes })
    return output
  }

  #known(name: string | undefined): Tensor | undefined {
    const constant: Constant | undefined = this.#graph.constants.get(name ?? '')
    return constant === undefined || isStored(constant) ? undefined : constant
  }
}

const axisIs = (value: number): Node['attributes'] => new Map([['axis', { kind: 'int', value }]])

const isTrue = (tensor: Tensor | undefined): boolean =>
  tensor?.data.length === 1 && Number(tensor.data[0]) !== 0

/**
 * Whether a body that continues once continues until the last step, because its condition is constantly true
 * or passed through unchanged.
 */
function staysTrue({ inputs, outputs, nodes, constants }: Graph): boolean {
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)))
  let [name = ''] = outputs
  for (let node = makers.get(name); node !== undefined; node = makers.get(name)) {
    if (node.op === 'Constant') {
      const value = node.attributes.get('value')
      return value?.kind === 'tensor' && isTrue(value.value)
    }
    if (node.op !== 'Identity' && node.op !== 'Cast') return false
    makers.delete(name)
    name = node.inputs[0] ?? ''
  }
  const constant = constants.get(name)
  if (constant !== undefined) return !isStored(constant) && isTrue(constant)
  return name !== '' && name === inputs[1]?.name
}
