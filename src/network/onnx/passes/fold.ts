// The constant folding pass: whatever can be computed becomes a constant (Constant nodes, nodes with constant
// inputs, shapes known from inference).
import type { Budget } from '../../../core/base/budget.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { evaluateNode } from '../evaluate.ts'
import { graphBudget } from '../graph-budget.ts'
import { inferAgain, inputTypes } from '../infer.ts'
import {
  type Constant,
  type Graph,
  hasGraph,
  isStored,
  type Node,
  readsOf,
  type Type,
  typeOf,
} from '../ir/graph.ts'
import { countOf, isFloat, type Tensor, tensorOf } from '../ir/tensor.ts'
import { operatorOf, whyUnclaimed } from '../operators.ts'
import { type Pass, withNodes } from './pass.ts'

/** Maximum number of elements in a constant that folding creates: masks and position tables, not weights. */
const MAX_ELEMENTS = 2 ** 22
/** Operators whose result differs between runs. */
export const RANDOM: ReadonlySet<string> = new Set([
  'RandomNormal',
  'RandomNormalLike',
  'RandomUniform',
  'RandomUniformLike',
  'Bernoulli',
  'Multinomial',
])

export const foldConstants: Pass = folding('constant folding', () => true)

/** Maximum number of floats that a node of `foldSizes` reads. */
const FEW = 64

/** Folds only the values that sizes are computed from; for measurements. */
export const foldSizes: Pass = folding(
  'folding of sizes',
  (node, inputs) =>
    node.op === 'Constant' ||
    inputs.every((each) => each === undefined || !isFloat(each.dtype) || each.data.length <= FEW),
)

/** Whether to fold a node that reads these constants. */
type IsMeant = (node: Node, inputs: readonly (Tensor | undefined)[]) => boolean

function folding(name: string, isMeant: IsMeant): Pass {
  return {
    name,
    run(graph, budget = graphBudget()) {
      const folding = new Folding(graph, budget, isMeant)
      const { constants } = folding
      const types = inputTypes(graph)
      const nodes = graph.nodes.filter((node) => {
        if (folding.fold(node)) return false
        inferAgain({ constants }, types, node)
        return !folding.take(node, types)
      })
      folding.end()
      return nodes.length === graph.nodes.length ? graph : { ...withNodes(graph, nodes), constants }
    },
  }
}

/**
 * A graph's constants while it is being folded. A constant that only folded nodes read is dropped after its
 * last reader.
 */
class Folding {
  readonly constants: Map<string, Constant>
  readonly #budget: Budget
  readonly #isMeant: IsMeant
  /** How many nodes still have to read each value; an output of the graph counts as one more. */
  readonly #readers = new Map<string, number>()
  #heldBytes = 0

  constructor(graph: Graph, budget: Budget, isMeant: IsMeant) {
    this.constants = new Map(graph.constants)
    this.#isMeant = isMeant
    this.#budget = budget
    for (const constant of graph.constants.values()) if (!isStored(constant)) this.#hold(constant, 1)
    for (const name of [...graph.nodes.flatMap(readsOf), ...graph.outputs])
      this.#readers.set(name, (this.#readers.get(name) ?? 0) + 1)
  }

  /** Adds the node's outputs to the constants. Returns false if they cannot be computed. */
  fold(node: Node): boolean {
    const { constants } = this
    const inputs = node.inputs.map((name) => (name === '' ? undefined : constants.get(name)))
    const isKnown = node.inputs.every((name, at) => name === '' || (inputs[at] && !isStored(inputs[at])))
    const tensors = inputs as (Tensor | undefined)[]
    if (!isKnown || hasGraph(node) || RANDOM.has(node.op) || isMatrixOfCodes(node, tensors)) return false
    if (!this.#isMeant(node, tensors) || isTooLarge(node, tensors)) return false
    const dtypes = tensors.map((tensor) => tensor?.dtype)
    if (whyUnclaimed(node, dtypes) !== undefined) return false
    const made = evaluated(node, tensors, this.#budget)
    if (made === undefined) return false
    for (const [index, name] of node.outputs.entries()) {
      const tensor = made[index]
      if (name !== '' && tensor !== undefined) this.#add(name, tensor)
    }
    for (const name of readsOf(node)) this.#read(name)
    return true
  }

  /**
   * Adds the node's outputs as far as inference knows them, for instance from sizes. Returns false if it does
   * not know all elements.
   */
  take(node: Node, types: Map<string, Type>): boolean {
    const known = node.outputs.map((name) => {
      const type = name === '' ? undefined : types.get(name)
      const isWhole = type?.elements?.every((each) => Number.isSafeInteger(each)) === true
      const isShaped = type?.dims?.every((each) => typeof each === 'number') === true
      return isWhole && isShaped ? type : undefined
    })
    if (!known.every((type) => type !== undefined)) return false
    for (const [index, { dtype, dims, elements }] of known.entries()) {
      const name = node.outputs[index]!
      this.#add(name, tensorOf(dtype, dims as number[], elements as number[]))
      types.delete(name)
    }
    for (const name of readsOf(node)) this.#read(name)
    return true
  }

  /** From here on, the resulting graph holds its constants. */
  end(): void {
    this.#budget.release(this.#heldBytes)
  }

  #add(name: string, tensor: Tensor): void {
    if (!this.#readers.has(name)) return
    this.constants.set(name, tensor)
    this.#hold(tensor, 1)
  }

  #read(name: string): void {
    const left = this.#readers.get(name)! - 1
    this.#readers.set(name, left)
    const constant = this.constants.get(name)
    if (left > 0 || constant === undefined || isStored(constant)) return
    this.constants.delete(name)
    this.#hold(constant, -1)
  }

  #hold({ data }: Tensor, sign: 1 | -1): void {
    this.#heldBytes += sign * data.byteLength
    if (sign > 0) this.#budget.hold(data.byteLength)
    else this.#budget.release(data.byteLength)
  }
}

/** Products need less memory for codes than for floats, so matrices of codes are not folded. */
const isMatrixOfCodes = ({ op }: Node, [codes]: readonly (Tensor | undefined)[]): boolean =>
  op === 'DequantizeLinear' && (codes?.dims.length ?? 0) > 1

/** Undefined for incompatible inputs: a branch that is never taken may contain such a node. */
function evaluated(node: Node, inputs: readonly (Tensor | undefined)[], budget: Budget) {
  try {
    return evaluateNode(node, inputs, { budget })
  } catch (error) {
    budget.check()
    if (isHalfbyteError(error)) return undefined
    throw error
  }
}

/** If a size is not known from inference, the node is kept. */
function isTooLarge(node: Node, inputs: readonly (Tensor | undefined)[]): boolean {
  const types = operatorOf(node)?.infer({
    node,
    inputs: inputs.map((tensor) => tensor && typeOf(tensor)),
    constant: (index) => inputs[index],
    subgraph: () => [],
  })
  return !(types ?? []).every((type) => {
    const dims = type?.dims
    return dims?.every((size) => typeof size === 'number') && countOf(dims as number[]) <= MAX_ELEMENTS
  })
}
