// A graph that runs in two runtimes: nodes that the compiler cannot run go to onnxruntime-web, and the rest
// is compiled. A run proceeds in stages, because the sizes of a foreign part's outputs are known only after
// it has run.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { LruCache } from '../../../core/base/lru-cache.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import { type NetworkLimits, ProgramBudget } from '../../onnx/graph-budget.ts'
import { inferTypes } from '../../onnx/infer.ts'
import type { Graph, Input, Type } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { runPasses } from '../../onnx/passes/pass.ts'
import { COMPILER_PASSES, PASSES } from '../../onnx/passes.ts'
import { boundGraph, checkDtypes, keyOf, shapesOf } from '../bind.ts'
import { MAX_PROGRAMS, parametersOf, type RunnableGraph } from '../compiled-graph.ts'
import { type CompileOptions, LazyMachine } from '../lazy-machine.ts'
import type { ForeignNode } from '../refusal.ts'
import { constantTensor } from '../run/constants.ts'
import type { LoadedProgram } from '../run/machine.ts'
import { withFloatProducts } from './float-products.ts'
import { Sessions } from './sessions.ts'
import { namesOfSizes, type Part, restOf, splitGraph } from './split.ts'
import { type PlannedStage, planStage, reasonsOf, refusedNodes } from './stage.ts'

/**
 * A stage whose program is loaded, and the stages after it, keyed by the sizes of the outputs of its parts.
 */
interface Stage extends Omit<PlannedStage, 'compiled'> {
  readonly compiled: LoadedProgram | undefined
  readonly next: LruCache<string, Stage>
}

export class MixedGraph implements RunnableGraph {
  readonly machine: LazyMachine
  readonly parameters: number
  readonly #graph: Graph
  readonly #sessions = new Sessions()
  readonly #first = new LruCache<string, Stage>(MAX_PROGRAMS, (stage) => this.#drop(stage))
  readonly #queue = new SerialQueue()
  readonly #foreign = new Map<string, ForeignNode>()
  readonly #types = new Map<string, Type>()
  readonly #limits: NetworkLimits | undefined
  #isClosed = false

  private constructor(graph: Graph, options: CompileOptions) {
    this.#graph = graph
    this.parameters = parametersOf(graph)
    this.#limits = options.limits
    this.machine = new LazyMachine(graph, options)
  }

  /**
   * Runs the passes on the graph, and opens a session for each foreign part that can be found without sizes.
   * Throws `unsupported` if onnxruntime-web is missing or doesn't support such a node either.
   */
  static async open(graph: Graph, options: CompileOptions, signal?: AbortSignal): Promise<MixedGraph> {
    const own = options.weights === 'f32' ? withFloatProducts(graph) : graph
    const budget = new ProgramBudget(options.limits, signal)
    const mixed = new MixedGraph(runPasses(own, COMPILER_PASSES, { budget }).graph, options)
    try {
      await mixed.#survey(signal)
      return mixed
    } catch (error) {
      await mixed.dispose()
      throw error
    }
  }

  get inputs(): readonly Input[] {
    return this.#graph.inputs
  }

  get outputTypes(): readonly Input[] {
    return this.#graph.outputs.map((name) => ({ name, type: this.#types.get(name) }))
  }

  get foreign(): readonly ForeignNode[] {
    return [...this.#foreign.values()]
  }

  /** Waits for the current run to end. */
  async dispose(): Promise<void> {
    this.#isClosed = true
    await this.#queue.run(() => this.#sessions.close())
    this.machine.dispose()
  }

  /**
   * Every input must be present and have the right dtype. Throws `unsupported` for a shape that does not fit
   * and for nodes that neither runtime supports, `format` for values that a node rejects, and `disposed`.
   */
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    return this.#queue.run(() => this.#run(feeds, signal), signal)
  }

  async #run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    this.#check(signal)
    checkDtypes(this.#graph, feeds)
    const found = new Map<string, Tensor>()
    let values = new Map(feeds)
    let stage: Stage | undefined = await this.#firstStage(shapesOf(feeds), signal)
    while (stage !== undefined) {
      this.#check(signal)
      if (stage.compiled !== undefined) {
        const made = await (await this.machine.open()).run(stage.compiled, values, signal)
        for (const [name, tensor] of made) values.set(name, tensor)
      }
      for (const part of stage.foreign) {
        const made = await this.#sessions.run(part, this.#declared(part, stage), values, signal)
        for (const [name, tensor] of made) values.set(name, tensor)
        this.#check(signal)
      }
      for (const name of this.#graph.outputs) {
        const tensor = values.get(name) ?? (await constantOf(stage.graph, name, signal))
        if (tensor !== undefined) found.set(name, tensor)
      }
      const { rest }: Stage = stage
      const current: Map<string, Tensor> = values
      values = new Map(rest?.inputs.map(({ name }) => [name, current.get(name)!]))
      stage = rest && (await this.#nextStage(stage, rest, values, signal))
    }
    return new Map(this.#graph.outputs.map((name) => [name, found.get(name)!]))
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new HalfbyteError('disposed', 'the network was disposed; load it again')
    signal?.throwIfAborted()
  }

  /** Finds the foreign parts that do not depend on sizes, and the types of their outputs. */
  async #survey(signal: AbortSignal | undefined): Promise<void> {
    const sizes = namesOfSizes(this.#graph)
    let graph: Graph | undefined = this.#graph
    while (graph !== undefined) {
      for (const [name, type] of inferTypes(graph)) this.#types.set(name, type)
      const reasons = refusedNodes(graph, this.#types, sizes)
      const { foreign, rest } = splitGraph(graph, (node) => reasons.has(node))
      this.#note(reasonsOf(foreign, reasons))
      for (const part of foreign) {
        const made = await this.#sessions.outputTypes(part, this.#types, signal)
        for (const [name, type] of made) this.#types.set(name, type)
      }
      signal?.throwIfAborted()
      graph = rest.length === 0 ? undefined : restOf(graph, rest, (name) => this.#types.get(name))
    }
  }

  #note(nodes: readonly ForeignNode[]): void {
    for (const each of nodes) this.#foreign.set(each.node, each)
  }

  /** Uses the type known at load if there is one, so that one session serves all sizes. */
  #declared({ inputs }: Part, { types }: Stage): ReadonlyMap<string, Type> {
    return new Map(
      inputs.flatMap((name) => {
        const type = this.#types.get(name) ?? types.get(name)
        if (type === undefined) return []
        return [[name, this.#types.has(name) ? type : { dtype: type.dtype }] as const]
      }),
    )
  }

  async #firstStage(shapes: ReadonlyMap<string, readonly number[]>, signal?: AbortSignal): Promise<Stage> {
    const key = keyOf(this.#graph, shapes)
    const known = this.#first.get(key)
    if (known !== undefined) return known
    const budget = new ProgramBudget(this.#limits, signal)
    return this.#loaded(this.#first, key, boundGraph(this.#graph, shapes, PASSES, budget), budget, signal)
  }

  /** `rest`: the part of the graph that remains after the stage. `values`: its inputs. */
  async #nextStage(
    { next }: Stage,
    rest: Graph,
    values: ReadonlyMap<string, Tensor>,
    signal?: AbortSignal,
  ): Promise<Stage> {
    const key = keyOf(rest, shapesOf(values))
    const known = next.get(key)
    if (known !== undefined) return known
    const inputs = rest.inputs.map(({ name }): Input => {
      const { dtype, dims } = values.get(name)!
      return { name, type: { dtype, dims } }
    })
    const budget = new ProgramBudget(this.#limits, signal)
    const { graph } = runPasses({ ...rest, inputs }, PASSES, { budget })
    return this.#loaded(next, key, graph, budget, signal)
  }

  #drop({ compiled, next }: Stage): void {
    if (compiled !== undefined) this.machine.unload(compiled)
    next.clear()
  }

  async #loaded(
    to: LruCache<string, Stage>,
    key: string,
    graph: Graph,
    budget: ProgramBudget,
    signal?: AbortSignal,
  ): Promise<Stage> {
    const planned = planStage(graph, this.machine.weights, budget)
    this.#note(planned.reasons)
    const { compiled } = planned
    const loaded =
      compiled && (await (await this.machine.open()).load(compiled.program, compiled.graph, signal))
    const stage: Stage = {
      ...planned,
      compiled: loaded,
      next: new LruCache(MAX_PROGRAMS, (each) => this.#drop(each)),
    }
    to.set(key, stage)
    return stage
  }
}

/** An output that passes have already computed. */
async function constantOf(
  { constants }: Graph,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Tensor | undefined> {
  const constant = constants.get(name)
  return constant && constantTensor(name, constant, signal)
}
