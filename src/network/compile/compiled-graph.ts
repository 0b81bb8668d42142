// A graph that runs: a program for each combination of input sizes, with shared functions and constants.
import { LruCache } from '../../core/base/lru-cache.ts'
import { SerialQueue } from '../../core/base/time/serial-queue.ts'
import { type NetworkLimits, ProgramBudget } from '../onnx/graph-budget.ts'
import { inferTypes } from '../onnx/infer.ts'
import type { Graph, Input } from '../onnx/ir/graph.ts'
import { countOf, type Tensor } from '../onnx/ir/tensor.ts'
import { foldConstants, foldSizes } from '../onnx/passes/fold.ts'
import { type Pass, runPasses } from '../onnx/passes/pass.ts'
import { COMPILER_PASSES, NEEDED_PASSES } from '../onnx/passes.ts'
import { boundGraph, boundProgram, checkDtypes, keyOf, shapesOf } from './bind.ts'
import { type CompileOptions, LazyMachine, policyFor } from './lazy-machine.ts'
import type { ProgramWeights } from './lower/policy.ts'
import type { Program } from './program/program.ts'
import { type ForeignNode, withWayOut } from './refusal.ts'
import type { LoadedProgram } from './run/machine.ts'
import { type LeftOut, NOTHING } from './stages.ts'

export type { CompileOptions } from './lazy-machine.ts'

/** A runnable graph, whatever runtime its nodes use. */
export interface RunnableGraph {
  readonly inputs: readonly Input[]
  /** Outputs in the graph's order, with the types and sizes known before a run. */
  readonly outputTypes: readonly Input[]
  /** Number of elements in the file's constants. */
  readonly parameters: number
  /** Nodes that are known to run in another runtime. */
  readonly foreign: readonly ForeignNode[]
  /** Its threads and its memory. Opening it starts the threads; otherwise the first run does. */
  readonly machine: LazyMachine
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>>
  /** Terminates the workers. Nothing can run afterwards. */
  dispose(): void | Promise<void>
}

/**
 * The program for inputs of these shapes. Throws `unsupported`, naming the node, if a node cannot be
 * compiled, and `out-of-memory` if the program exceeds the budget.
 */
export function programFor(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  weights: ProgramWeights = 'f32',
  leftOut = NOTHING,
  budget = new ProgramBudget(),
) {
  const bound = boundGraph(graph, shapes, passesWithout(leftOut), budget)
  try {
    return boundProgram(bound, { weights, leftOut, budget })
  } catch (error) {
    throw withWayOut(error)
  }
}

function passesWithout(leftOut: LeftOut): readonly Pass[] {
  const passes = leftOut.has('passes') ? NEEDED_PASSES : COMPILER_PASSES
  return leftOut.has('folding') ? passes.map((pass) => (pass === foldConstants ? foldSizes : pass)) : passes
}

/** Programs that stay loaded, one for each combination of input sizes. */
export const MAX_PROGRAMS = 32

/**
 * Number of elements in all constants of the file. Constants that passes compute from them do not count
 * again.
 */
export const parametersOf = ({ constants }: Graph): number =>
  [...constants.values()].reduce((sum, { dims }) => sum + countOf(dims), 0)

export class CompiledGraph implements RunnableGraph {
  readonly parameters: number
  readonly foreign = []
  readonly machine: LazyMachine
  readonly #graph: Graph
  readonly #leftOut: LeftOut
  readonly #limits: NetworkLimits | undefined
  readonly #programs = new LruCache<string, LoadedProgram<Program>>(MAX_PROGRAMS, (loaded) =>
    this.machine.unload(loaded),
  )
  /** Runs share one arena. */
  readonly #queue = new SerialQueue()

  /** Runs the passes on the graph, whose inputs may have unknown sizes. */
  constructor(graph: Graph, options: CompileOptions) {
    const { leftOut = NOTHING, limits } = options
    this.parameters = parametersOf(graph)
    this.#graph = runPasses(graph, passesWithout(leftOut), { budget: new ProgramBudget(limits) }).graph
    this.#leftOut = leftOut
    this.#limits = limits
    this.machine = new LazyMachine(policyFor(this.#graph, options), options)
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
   * Makes the program for inputs of these shapes and loads it. Throws `unsupported` for a shape that does
   * not fit or a node that cannot be compiled.
   */
  prepare(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<Program> {
    return this.#queue.run(async () => (await this.#loaded(shapes, signal)).program, signal)
  }

  /**
   * Every input must be present and have the right dtype. Throws what `prepare` throws, and `format` for
   * indices out of range.
   */
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    return this.#queue.run(async () => {
      checkDtypes(this.#graph, feeds)
      const loaded = await this.#loaded(shapesOf(feeds), signal)
      return (await this.machine.open()).run(loaded, feeds, signal)
    }, signal)
  }

  async #loaded(
    shapes: ReadonlyMap<string, readonly number[]>,
    signal?: AbortSignal,
  ): Promise<LoadedProgram<Program>> {
    const key = keyOf(this.#graph, shapes)
    const known = this.#programs.get(key)
    if (known !== undefined) return known
    const budget = new ProgramBudget(this.#limits, signal)
    const { program, graph } = programFor(this.#graph, shapes, this.machine.weights, this.#leftOut, budget)
    const loaded = await (await this.machine.open()).load(program, graph, signal)
    this.#programs.set(key, loaded)
    return loaded
  }
}
