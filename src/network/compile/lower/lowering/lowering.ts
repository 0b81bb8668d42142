// Lowering: the loops made for a graph so far, the state that handlers share, and what is charged to the
// planning budget.
import type { ProgramBudget } from '../../../onnx/graph-budget.ts'
import type { Graph, Node, Type } from '../../../onnx/ir/graph.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { type Loop, type Ref, stepsOf } from '../../loops/loops.ts'
import { costOf } from '../../loops/tree.ts'
import type { LeftOut } from '../../stages.ts'
import type { ProgramWeights } from '../policy.ts'
import { Values } from './values.ts'

/** Planning units charged per node, per name of a node, per loop and per tree. */
const NODE_UNITS = 512
const NAME_UNITS = 64
const LOOP_UNITS = 1280
const TREE_UNITS = 16

/** Options for lowering nodes. */
export interface LowerOptions {
  readonly weights: ProgramWeights
  readonly leftOut: LeftOut
  /** The budget of the program and its runs. */
  readonly budget: ProgramBudget
}

/** The copies that views save. */
interface Views {
  nodes: number
  bytes: number
}

/**
 * Integers [..., channels, ...places], and what they are multiplied by: one number, or one for each channel.
 */
export interface CodeSums {
  readonly ref: Ref
  /** How many axes come after the channels. */
  readonly after: number
  readonly scale: readonly number[]
}

/** How a range of computed numbers is divided into codes: one scale for all, or for each row, [..., 1]. */
export interface DynamicScale {
  readonly scale: Ref
  /** i32, from 0 to 255. */
  readonly zero: Ref
}

/** A graph's loops made so far, and the state that handlers share. */
export class Lowering {
  readonly graph: Graph
  readonly values: Values
  readonly weights: ProgramWeights
  readonly leftOut: LeftOut
  /** The nodes that read each value. */
  readonly readers: ReadonlyMap<string, readonly Node[]>
  readonly views: Views = { nodes: 0, bytes: 0 }
  /** Sums of codes, by the name of the value that they become when they are scaled. */
  readonly sums = new Map<string, CodeSums>()
  /** The scales and zero points of codes whose rows have their own, by the name of the codes. */
  readonly rowScales = new Map<string, DynamicScale>()
  readonly #loops: Loop[] = []
  readonly #budget: ProgramBudget
  readonly #types: ReadonlyMap<string, Type>
  readonly #once = new Map<string, Ref>()

  constructor(
    graph: Graph,
    types: ReadonlyMap<string, Type>,
    readers: ReadonlyMap<string, readonly Node[]>,
    { weights, leftOut, budget }: LowerOptions,
  ) {
    this.graph = graph
    this.values = new Values(graph, types, budget)
    this.weights = weights
    this.leftOut = leftOut
    this.readers = readers
    this.#budget = budget
    this.#types = types
  }

  /** Charges for a node before its handler begins: for its names and its output elements. */
  begin(node: Node): void {
    const names = node.inputs.length + node.outputs.length
    this.#budget.spend(NODE_UNITS + NAME_UNITS * names)
    for (const name of node.outputs) {
      const dims = this.#types.get(name)?.dims
      if (dims?.every((size) => typeof size === 'number'))
        this.#budget.step(node.name, countOf(dims as number[]))
    }
  }

  /** Charges for a handler's planning work before the work is done, in units of `NetworkLimits.planning`. */
  spend(units: number): void {
    this.#budget.spend(units)
  }

  /** The result of `make`, memoized by key. */
  once(key: string, make: () => Ref): Ref {
    const made = this.#once.get(key) ?? make()
    this.#once.set(key, made)
    return made
  }

  get loops(): readonly Loop[] {
    return this.#loops
  }

  /** Adds a loop to the program and charges its units to the budget. */
  add(loop: Loop): void {
    this.#budget.spend(
      LOOP_UNITS + ('tree' in loop && loop.tree !== undefined ? TREE_UNITS * costOf(loop.tree) : 0),
    )
    this.#budget.step(loop.node, stepsOf(loop))
    this.#loops.push(loop)
  }
}
