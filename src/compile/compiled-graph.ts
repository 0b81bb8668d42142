// A graph that runs: a plan for each combination of input sizes, and the functions and constants they share.
import { HalfbyteError } from '../base/errors.ts'
import { graphBudget } from '../onnx/evaluate.ts'
import { inferTypes } from '../onnx/infer.ts'
import type { Graph, Input } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { runPasses } from '../onnx/passes/pass.ts'
import { PASSES } from '../onnx/passes.ts'
import { boundGraph } from './bind.ts'
import { lower } from './lower/lower.ts'
import { type Plan, planOf } from './plan/plan.ts'
import { type LoadedPlan, Machine, type MachineOptions } from './run/machine.ts'

/** Plans that are kept; the oldest goes first. */
const MOST_PLANS = 32

/** A plan for inputs of these shapes. Throws `unsupported` with the node that is not compiled. */
export function planGraph(graph: Graph, shapes: ReadonlyMap<string, readonly number[]>) {
  const bound = boundGraph(graph, shapes)
  return { graph: bound, plan: planOf(lower(bound)) }
}

export class CompiledGraph {
  readonly #graph: Graph
  readonly #machine: Machine
  readonly #plans = new Map<string, LoadedPlan>()
  /** The last run that was asked for: runs share one arena, and come one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  /** Runs the passes on the graph, which may have inputs of unknown sizes. */
  constructor(graph: Graph, options: MachineOptions) {
    this.#graph = runPasses(graph, PASSES, { budget: graphBudget() }).graph
    this.#machine = new Machine(options)
  }

  get inputs(): readonly Input[] {
    return this.#graph.inputs
  }

  /** Outputs in the graph's order, with what is known of them before a run. */
  get outputTypes(): readonly Input[] {
    const types = inferTypes(this.#graph)
    return this.#graph.outputs.map((name) => ({ name, type: types.get(name) }))
  }

  get sizes(): Machine['sizes'] {
    return this.#machine.sizes
  }

  /**
   * Plans inputs of these shapes, and loads what the plan needs. Throws `unsupported` for a shape that does
   * not fit or a node that is not compiled.
   */
  async prepare(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<Plan> {
    return (await this.#loaded(shapes, signal)).plan
  }

  /**
   * Every input must be there, with its dtype. Throws what `prepare` throws, and `format` for wrong indices.
   */
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    const run = this.#last.then(() => this.#run(feeds, signal))
    this.#last = run.catch(() => undefined)
    return run
  }

  async #run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    signal?.throwIfAborted()
    for (const { name, type } of this.#graph.inputs) {
      const given = feeds.get(name)
      if (given !== undefined && given.dtype !== type!.dtype)
        throw new HalfbyteError(
          'unsupported',
          `the input ${name} is ${given.dtype} where the model takes ${type!.dtype}; convert it`,
          { name, given: given.dtype, due: type!.dtype },
        )
    }
    const shapes = new Map([...feeds].map(([name, { dims }]) => [name, dims]))
    const loaded = await this.#loaded(shapes, signal)
    signal?.throwIfAborted()
    return this.#machine.run(loaded, feeds)
  }

  async #loaded(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<LoadedPlan> {
    const key = JSON.stringify(this.#graph.inputs.map(({ name }) => shapes.get(name)))
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const { plan, graph } = planGraph(this.#graph, shapes)
    const loaded = await this.#machine.load(plan, graph, signal)
    this.#plans.set(key, loaded)
    if (this.#plans.size > MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value!)
    return loaded
  }
}
