// A graph that runs: a plan for each combination of input sizes, and the functions and constants they share.
import { HalfbyteError } from '../base/errors.ts'
import { graphBudget } from '../onnx/evaluate.ts'
import { inferTypes } from '../onnx/infer.ts'
import type { Graph, Input } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { runPasses } from '../onnx/passes/pass.ts'
import { NEEDED_PASSES, PASSES } from '../onnx/passes.ts'
import { boundGraph } from './bind.ts'
import { lower } from './lower/lower.ts'
import type { WeightPolicy } from './lower/policy.ts'
import { type Plan, planOf } from './plan/plan.ts'
import { type LoadedPlan, Machine, type MachineOptions } from './run/machine.ts'
import { type LeftOut, NOTHING } from './stages.ts'

/** Plans that are kept; the oldest goes first. */
const MOST_PLANS = 32

/** A plan for inputs of these shapes. Throws `unsupported` with the node that is not compiled. */
export function planGraph(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  weights: WeightPolicy = 'f32',
  leftOut = NOTHING,
) {
  const bound = boundGraph(graph, shapes, passesWithout(leftOut))
  return { graph: bound, plan: planOf(lower(bound, weights, leftOut), leftOut) }
}

const passesWithout = (leftOut: LeftOut) => (leftOut.has('passes') ? NEEDED_PASSES : PASSES)

/** Operators whose constant codes the engine's kernels can multiply by. */
const CODED = ['MatMulInteger', 'DequantizeLinear', 'MatMulNBits']

/** Whether plans with this policy may have steps that the engine's kernels run. */
const needsKernels = ({ nodes }: Graph, weights: WeightPolicy): boolean =>
  weights === 'auto' ? nodes.some(({ op }) => CODED.includes(op)) : weights !== 'f32'

export interface CompileOptions extends Pick<MachineOptions, 'fuse' | 'workers'> {
  /** Default `auto`. */
  readonly weights?: WeightPolicy | undefined
  /** Loads the engine's module, when plans need it. Default: everything is multiplied in f32. */
  readonly loadKernels?: (() => Promise<NonNullable<MachineOptions['kernels']>>) | undefined
  /** For tests and measurements. Default: nothing. */
  readonly leftOut?: LeftOut | undefined
}

export class CompiledGraph {
  readonly #graph: Graph
  readonly #options: CompileOptions
  readonly #weights: WeightPolicy
  readonly #leftOut: LeftOut
  #machine: Machine | undefined
  readonly #plans = new Map<string, LoadedPlan>()
  /** The last run that was asked for: runs share one arena, and come one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  /** Runs the passes on the graph, which may have inputs of unknown sizes. */
  constructor(graph: Graph, options: CompileOptions) {
    const { weights = 'auto', loadKernels, leftOut = NOTHING } = options
    this.#graph = runPasses(graph, passesWithout(leftOut), { budget: graphBudget() }).graph
    this.#options = options
    this.#leftOut = leftOut
    const isByKernels = loadKernels !== undefined && needsKernels(this.#graph, weights)
    this.#weights = isByKernels ? weights : 'f32'
  }

  get inputs(): readonly Input[] {
    return this.#graph.inputs
  }

  /** Outputs in the graph's order, with what is known of them before a run. */
  get outputTypes(): readonly Input[] {
    const types = inferTypes(this.#graph)
    return this.#graph.outputs.map((name) => ({ name, type: types.get(name) }))
  }

  /**
   * Starts the threads, which the first run would do. Throws `internal` where one does not start, and
   * `out-of-memory`.
   */
  async start(): Promise<void> {
    await this.#opened()
  }

  /** Threads that share a run; 1 before they are started. */
  get threads(): number {
    return this.#machine?.threads ?? 1
  }

  /** Ends the workers. Nothing can be run afterwards. */
  dispose(): void {
    this.#machine?.dispose()
  }

  get sizes(): Machine['sizes'] {
    return this.#machine?.sizes ?? { memoryBytes: 0, codeBytes: 0, functions: 0 }
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
    return this.#machine!.run(loaded, feeds)
  }

  async #opened(): Promise<Machine> {
    const { fuse, loadKernels, workers } = this.#options
    const needs = this.#weights !== 'f32' || workers !== undefined
    this.#machine ??= await Machine.open({
      fuse,
      kernels: needs ? await loadKernels?.() : undefined,
      workers,
    })
    return this.#machine
  }

  async #loaded(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<LoadedPlan> {
    const key = JSON.stringify(this.#graph.inputs.map(({ name }) => shapes.get(name)))
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const { plan, graph } = planGraph(this.#graph, shapes, this.#weights, this.#leftOut)
    const loaded = await (await this.#opened()).load(plan, graph, signal)
    this.#plans.set(key, loaded)
    if (this.#plans.size > MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value!)
    return loaded
  }
}
