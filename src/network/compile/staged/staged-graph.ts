// A graph that runs in stages. Nodes that the compiler cannot run are evaluated in TypeScript or by
// onnxruntime-web between programs. Sizes that depend on their values, and the branches that an If or a Loop
// takes, are known only after a stage has run, so the next stage is planned then.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { LruCache } from '../../../core/base/lru-cache.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import { type NetworkLimits, ProgramBudget } from '../../onnx/graph-budget.ts'
import { inferTypes } from '../../onnx/infer.ts'
import { type Graph, hasGraph, type Input, type Type } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { runPasses } from '../../onnx/passes/pass.ts'
import { COMPILER_PASSES } from '../../onnx/passes.ts'
import { boundGraph, checkDtypes, keyOf, shapesOf } from '../bind.ts'
import { MAX_PROGRAMS, parametersOf, type RunnableGraph } from '../compiled-graph.ts'
import { type CompileOptions, LazyMachine } from '../lazy-machine.ts'
import type { ForeignNode } from '../refusal.ts'
import { constantTensor } from '../run/constants.ts'
import type { LoadedProgram } from '../run/machine.ts'
import { isScripted, runScript } from './script-parts.ts'
import type { Sessions } from './sessions.ts'
import { decidingInputs, namesOfSizes, type Part, restOf, splitGraph } from './split.ts'
import { type PlannedStage, places, planStage, reasonsOf, refusedNodes } from './stage.ts'

/**
 * A stage whose program is loaded, and the stages after it, keyed by the sizes of the outputs of its parts.
 */
interface Stage extends Omit<PlannedStage, 'compiled'> {
  readonly compiled: LoadedProgram | undefined
  readonly next: LruCache<string, Stage>
}

export class StagedGraph implements RunnableGraph {
  readonly machine: LazyMachine
  readonly parameters: number
  readonly #graph: Graph
  /** Without them, nothing runs in onnxruntime-web. */
  readonly #sessions: Sessions | undefined
  /** Inputs whose values decide which nodes run: a program is compiled for each of their values. */
  readonly #deciding: readonly string[]
  readonly #first = new LruCache<string, Stage>(MAX_PROGRAMS, (stage) => this.#drop(stage))
  readonly #queue = new SerialQueue()
  readonly #foreign = new Map<string, ForeignNode>()
  readonly #types = new Map<string, Type>()
  readonly #limits: NetworkLimits | undefined
  #isClosed = false

  private constructor(graph: Graph, options: CompileOptions, sessions: Sessions | undefined) {
    this.#graph = graph
    this.#sessions = sessions
    this.#deciding = decidingAmong(graph)
    this.parameters = parametersOf(graph)
    this.#limits = options.limits
    this.machine = new LazyMachine(graph, options)
  }

  /**
   * Runs the passes on the graph and, with a fallback, opens a session for each foreign part that can be
   * found without sizes. Throws `unsupported` if onnxruntime-web is missing or doesn't support such a node
   * either.
   */
  static async open(
    graph: Graph,
    options: CompileOptions & { readonly fallback?: 'ort' | undefined },
    signal?: AbortSignal,
  ): Promise<StagedGraph> {
    const fallback = options.fallback === undefined ? undefined : await import('./sessions.ts')
    const own =
      fallback !== undefined && options.weights === 'f32' ? fallback.withFloatProducts(graph) : graph
    const budget = new ProgramBudget(options.limits, signal)
    const passed = runPasses(own, COMPILER_PASSES, { budget }).graph
    const staged = new StagedGraph(passed, options, fallback && new fallback.Sessions())
    try {
      await staged.#survey(signal)
      return staged
    } catch (error) {
      await staged.dispose()
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
    await this.#queue.run(async () => this.#sessions?.close())
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
    const deciding = this.#deciding
    let stage: Stage | undefined = await this.#stageOf(this.#first, this.#graph, { values, deciding }, signal)
    while (stage !== undefined) {
      this.#check(signal)
      if (stage.compiled !== undefined) {
        const made = await (await this.machine.open()).run(stage.compiled, values, signal)
        for (const [name, tensor] of made) values.set(name, tensor)
      }
      for (const part of stage.foreign) {
        const made = await this.#foreignRun(part, stage, values, signal)
        for (const [name, tensor] of made) values.set(name, tensor)
        this.#check(signal)
      }
      for (const name of this.#graph.outputs) {
        const tensor = values.get(name) ?? (await constantOf(stage.graph, name, signal))
        if (tensor !== undefined) found.set(name, tensor)
      }
      const { rest, next, deciding }: Stage = stage
      const current: Map<string, Tensor> = values
      values = new Map(rest?.inputs.map(({ name }) => [name, current.get(name)!]))
      stage = rest && (await this.#stageOf(next, withTypes(rest, values), { values, deciding }, signal))
    }
    return new Map(this.#graph.outputs.map((name) => [name, found.get(name)!]))
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new HalfbyteError('disposed', 'the network was disposed; load it again')
    signal?.throwIfAborted()
  }

  /**
   * Finds the types of all values as far as they are known without sizes and, with a fallback, the foreign
   * parts that do not depend on sizes.
   */
  async #survey(signal: AbortSignal | undefined): Promise<void> {
    if (this.#sessions === undefined) {
      for (const [name, type] of inferTypes(this.#graph)) this.#types.set(name, type)
      return
    }
    const sizes = namesOfSizes(this.#graph)
    let graph: Graph | undefined = this.#graph
    while (graph !== undefined) {
      for (const [name, type] of inferTypes(graph)) this.#types.set(name, type)
      const reasons = refusedNodes(graph, this.#types, sizes)
      const { foreign, deciding, rest } = splitGraph(
        graph,
        places(graph, { reasons, types: this.#types, fallback: 'ort' }),
      )
      this.#note(reasonsOf(foreign, reasons, 'ort'))
      for (const part of foreign) {
        const made = await this.#sessions.outputTypes(part, this.#types, signal)
        for (const [name, type] of made) this.#types.set(name, type)
      }
      signal?.throwIfAborted()
      // What an If or a Loop runs is known only with the values that decide it.
      if (deciding.length > 0) return
      graph = rest.length === 0 ? undefined : restOf(graph, rest, (name) => this.#types.get(name))
    }
  }

  #foreignRun(
    part: Part,
    stage: Stage,
    values: ReadonlyMap<string, Tensor>,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, Tensor>> {
    if (this.#sessions === undefined) return runScript(part, values, this.#limits, signal)
    return this.#sessions.run(part, this.#declared(part, stage), values, signal)
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

  /**
   * The stage of a graph: the first one, or the rest after another. `values`: its inputs; `deciding`: those
   * of them that become constants.
   */
  async #stageOf(
    stages: LruCache<string, Stage>,
    graph: Graph,
    {
      values,
      deciding,
    }: { readonly values: ReadonlyMap<string, Tensor>; readonly deciding: readonly string[] },
    signal?: AbortSignal,
  ): Promise<Stage> {
    const decided = picked(deciding, values)
    const shapes = shapesOf(values)
    const key = keyOf(graph, shapes) + valuesOf(decided)
    const known = stages.get(key)
    if (known !== undefined) return known
    const budget = new ProgramBudget(this.#limits, signal)
    const bound = boundGraph(graph, shapes, COMPILER_PASSES, budget, decided)
    const stage = await this.#loaded(bound, budget, signal)
    stages.set(key, stage)
    return stage
  }

  #drop({ compiled, next }: Stage): void {
    if (compiled !== undefined) this.machine.unload(compiled)
    next.clear()
  }

  async #loaded(graph: Graph, budget: ProgramBudget, signal?: AbortSignal): Promise<Stage> {
    const fallback = this.#sessions && 'ort'
    const planned = planStage(graph, { weights: this.machine.weights, budget, fallback })
    this.#note(planned.reasons)
    const { compiled } = planned
    const loaded =
      compiled && (await (await this.machine.open()).load(compiled.program, compiled.graph, signal))
    const next = new LruCache<string, Stage>(MAX_PROGRAMS, (each) => this.#drop(each))
    return { ...planned, compiled: loaded, next }
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

/** The graph with inputs of these types, whose shapes have no symbols. */
const withTypes = (graph: Graph, values: ReadonlyMap<string, Tensor>): Graph => ({
  ...graph,
  inputs: graph.inputs.map(({ name }): Input => {
    const { dtype, dims } = values.get(name)!
    return { name, type: { dtype, dims } }
  }),
})

const picked = (names: readonly string[], values: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> =>
  new Map(names.flatMap((name) => (values.has(name) ? [[name, values.get(name)!] as const] : [])))

/** A part of a program's key. */
const valuesOf = (decided: ReadonlyMap<string, Tensor>): string =>
  [...decided.values()].map(({ data }) => ` ${data}`).join()

/**
 * Inputs of a single integer that alone decide what an If or a Loop runs, such as a sampling rate. Others
 * that do so are read once the values before them are computed.
 */
function decidingAmong(graph: Graph): readonly string[] {
  const numbers = new Set(graph.inputs.filter(isNumber).map(({ name }) => name))
  if (numbers.size === 0) return []
  // For each value that passes compute from these inputs: the inputs that it depends on.
  const known = new Map<string, ReadonlySet<string>>()
  for (const name of graph.constants.keys()) known.set(name, new Set())
  for (const name of numbers) known.set(name, new Set([name]))
  const deciding = new Set<string>()
  for (const node of graph.nodes) {
    for (const name of decidingInputs(node)) for (const input of known.get(name) ?? []) deciding.add(input)
    const sources = node.inputs.map((name) => (name === '' ? new Set<string>() : known.get(name)))
    if (!isScripted(node) || hasGraph(node) || sources.some((each) => each === undefined)) continue
    const all = new Set(sources.flatMap((each) => [...each!]))
    for (const name of node.outputs) known.set(name, all)
  }
  return [...deciding]
}

const isNumber = ({ type }: Input): boolean =>
  (type?.dtype === 'i64' || type?.dtype === 'i32' || type?.dtype === 'bool') &&
  type.dims !== undefined &&
  type.dims.every((size) => size === 1)
