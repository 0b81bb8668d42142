// A graph that runs: a plan for each combination of input sizes, and the functions and constants they share.
import { type NetworkLimits, PlanBudget } from '../onnx/graph-budget.ts'
import { inferTypes } from '../onnx/infer.ts'
import type { Graph, Input } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { runPasses } from '../onnx/passes/pass.ts'
import { COMPILER_PASSES, NEEDED_PASSES } from '../onnx/passes.ts'
import { boundGraph, checkDtypes, keyOf, planBound, shapesOf } from './bind.ts'
import { Kept } from './kept.ts'
import { type CompileOptions, LateMachine } from './late-machine.ts'
import type { WeightPolicy } from './lower/policy.ts'
import type { Plan } from './plan/plan.ts'
import { type ForeignNode, withWayOut } from './refusal.ts'
import type { LoadedPlan } from './run/machine.ts'
import { type LeftOut, NOTHING } from './stages.ts'
import { Turns } from './turns.ts'

export type { CompileOptions } from './late-machine.ts'

/** A graph that runs, wherever its nodes do. */
export interface RunnableGraph {
  readonly inputs: readonly Input[]
  /** Outputs in the graph's order, with the types and sizes that are known before a run. */
  readonly outputTypes: readonly Input[]
  /** Nodes that another runtime runs, as far as they are known. */
  readonly foreign: readonly ForeignNode[]
  /** Its threads and its memory. To open it starts the threads, which the first run would do. */
  readonly machine: LateMachine
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>>
  /** Ends the workers. Nothing can be run afterwards. */
  dispose(): void | Promise<void>
}

/**
 * A plan for inputs of these shapes. Throws `unsupported` with the node that is not compiled, and
 * `out-of-memory` for one that exceeds the budget.
 */
export function planGraph(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  weights: WeightPolicy = 'f32',
  leftOut = NOTHING,
  budget = new PlanBudget(),
) {
  const bound = boundGraph(graph, shapes, passesWithout(leftOut), budget)
  try {
    return planBound(bound, { weights, leftOut, budget })
  } catch (error) {
    throw withWayOut(error)
  }
}

const passesWithout = (leftOut: LeftOut) => (leftOut.has('passes') ? NEEDED_PASSES : COMPILER_PASSES)

export class CompiledGraph implements RunnableGraph {
  readonly foreign = []
  readonly machine: LateMachine
  readonly #graph: Graph
  readonly #leftOut: LeftOut
  readonly #limits: NetworkLimits | undefined
  readonly #plans = new Kept<LoadedPlan>((loaded) => this.machine.unload(loaded))
  readonly #turns = new Turns()

  /** Runs the passes on the graph, which may have inputs of unknown sizes. */
  constructor(graph: Graph, options: CompileOptions) {
    const { leftOut = NOTHING, limits } = options
    this.#graph = runPasses(graph, passesWithout(leftOut), { budget: new PlanBudget(limits) }).graph
    this.#leftOut = leftOut
    this.#limits = limits
    this.machine = new LateMachine(this.#graph, options)
  }

  get inputs(): readonly Input[] {
    return this.#graph.inputs
  }

  get outputTypes(): readonly Input[] {
    const types = inferTypes(this.#graph)
    return this.#graph.outputs.map((name) => ({ name, type: types.get(name) }))
  }

  dispose(): void {
    this.machine.dispose()
  }

  /**
   * Plans inputs of these shapes, and loads what the plan needs. Throws `unsupported` for a shape that does
   * not fit or a node that is not compiled.
   */
  prepare(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<Plan> {
    return this.#turns.take(async () => (await this.#loaded(shapes, signal)).plan, signal)
  }

  /**
   * Every input must be there, with its dtype. Throws what `prepare` throws, and `format` for wrong indices.
   */
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    return this.#turns.take(async () => {
      checkDtypes(this.#graph, feeds)
      const loaded = await this.#loaded(shapesOf(feeds), signal)
      return (await this.machine.open()).run(loaded, feeds, signal)
    }, signal)
  }

  async #loaded(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<LoadedPlan> {
    const key = keyOf(this.#graph, shapes)
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const budget = new PlanBudget(this.#limits, signal)
    const { plan, graph } = planGraph(this.#graph, shapes, this.machine.weights, this.#leftOut, budget)
    const loaded = await (await this.machine.open()).load(plan, graph, signal)
    this.#plans.set(key, loaded)
    return loaded
  }
}
