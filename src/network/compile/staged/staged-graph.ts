// A graph that runs in stages. Nodes that the compiler cannot run are evaluated in TypeScript or by
// onnxruntime-web between programs. Sizes that depend on their values, and the branches that an If or a Loop
// takes, are known only after a stage has run, so the next stage is planned then.
import { quickTurn } from '../../../core/base/budget.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { LruCache } from '../../../core/base/lru-cache.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import { endSpan } from '../../../core/base/time/spans.ts'
import { type NetworkLimits, ProgramBudget } from '../../onnx/graph-budget.ts'
import { inferTypes } from '../../onnx/infer.ts'
import { type Graph, hasGraph, type Input, type Type } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { runPasses } from '../../onnx/passes/pass.ts'
import { COMPILER_PASSES } from '../../onnx/passes.ts'
import { boundGraph, checkDtypes, shapesOf } from '../bind.ts'
import { ConstantPool } from '../cache/constant-pool.ts'
import type { PlanCache } from '../cache/plan-cache.ts'
import { MAX_PROGRAMS, parametersOf, type RunnableGraph } from '../compiled-graph.ts'
import { type CompileOptions, LazyMachine, policyFor } from '../lazy-machine.ts'
import type { ProgramWeights } from '../lower/policy.ts'
import type { ForeignNode } from '../refusal.ts'
import { constantTensor } from '../run/constant-tensor.ts'
import type { Functions, LoadedProgram } from '../run/machine.ts'
import { fromCache, toCache } from './cached-stage.ts'
import { expandedGraph, expandedValues, givenValues, keyOfValues, ownValue } from './expand.ts'
import { isScripted, runScript } from './script-parts.ts'
import type { Sessions } from './sessions.ts'
import { decidingInputs, namesOfSizes, type Part, restOf, splitGraph } from './split.ts'
import { places, planStage, type RunnableStage, reasonsOf, refusedNodes } from './stage.ts'

/**
 * A stage whose program is loaded, and the stages after it, keyed by the sizes of the outputs of its parts.
 */
interface Stage extends Omit<RunnableStage, 'compiled'> {
  readonly compiled: LoadedProgram | undefined
  readonly next: LruCache<string, Stage>
  /** Its key among all stages of the network. */
  readonly path: string
}

/** What is known of a network before its graph is read. */
export interface GraphFacts {
  readonly inputs: readonly Input[]
  readonly outputTypes: readonly Input[]
  readonly parameters: number
  /** Inputs whose values decide which nodes run: a program is compiled for each of their values. */
  readonly deciding: readonly string[]
  readonly weights: ProgramWeights
}

interface StagedOptions extends CompileOptions {
  readonly fallback?: 'ort' | undefined
  /** Holds stages for later visits. Not used with a fallback, whose sessions need the graph. */
  readonly plans?: PlanCache | undefined
}

/** A graph to plan: its inputs, and the whole graph, which is read only if no plan is cached. */
interface Planning {
  readonly inputs: readonly Input[]
  readonly graph: () => Promise<Graph>
  readonly values: ReadonlyMap<string, Tensor>
  /** Those of the values that become constants. */
  readonly deciding: readonly string[]
  /** The path of the stage before. */
  readonly path: string
}

export class StagedGraph implements RunnableGraph {
  readonly machine: LazyMachine
  readonly #facts: GraphFacts
  readonly #whole: () => Promise<Graph>
  /** Without them, nothing runs in onnxruntime-web. */
  readonly #sessions: Sessions | undefined
  readonly #plans: PlanCache | undefined
  /** Without a cache, all programs read the constants of one graph. */
  readonly #pool: ConstantPool | undefined
  /** Stages that are planned but not in the cache yet. */
  readonly #uncached: { readonly path: string; readonly entry: () => unknown }[] = []
  #caching: Promise<void> = Promise.resolve()
  readonly #first = new LruCache<string, Stage>(MAX_PROGRAMS, (stage) => this.#drop(stage))
  readonly #queue = new SerialQueue()
  readonly #foreign = new Map<string, ForeignNode>()
  readonly #types = new Map<string, Type>()
  readonly #limits: NetworkLimits | undefined
  #isClosed = false

  private constructor(
    facts: GraphFacts,
    whole: () => Promise<Graph>,
    options: StagedOptions,
    sessions?: Sessions,
  ) {
    this.#facts = facts
    this.#whole = whole
    this.#sessions = sessions
    this.#plans = sessions === undefined ? options.plans : undefined
    this.#pool = this.#plans && new ConstantPool()
    this.#limits = options.limits
    this.machine = new LazyMachine(facts.weights, options)
  }

  /** A network of which the facts are cached. `read`: reads its graph, if a plan is missing. */
  static known(facts: GraphFacts, read: () => Promise<Graph>, options: StagedOptions): StagedGraph {
    let whole: Promise<Graph> | undefined
    const passed = async () =>
      runPasses(await read(), COMPILER_PASSES, { budget: new ProgramBudget(options.limits) }).graph
    const once = () => {
      whole ??= passed()
      // The next run tries again.
      whole.catch(() => {
        whole = undefined
      })
      return whole
    }
    return new StagedGraph(facts, once, options)
  }

  /**
   * Runs the passes on the graph and, with a fallback, opens a session for each foreign part that can be
   * found without sizes. Throws `unsupported` if onnxruntime-web is missing or doesn't support such a node
   * either.
   */
  static async open(graph: Graph, options: StagedOptions, signal?: AbortSignal): Promise<StagedGraph> {
    const fallback = options.fallback === undefined ? undefined : await import('./sessions.ts')
    const own =
      fallback !== undefined && options.weights === 'f32' ? fallback.withFloatProducts(graph) : graph
    const budget = new ProgramBudget(options.limits, signal)
    const start = performance.now()
    const passed = runPasses(own, COMPILER_PASSES, { budget }).graph
    endSpan('simplify the graph', start)
    const facts = {
      inputs: passed.inputs,
      outputTypes: passed.outputs.map((name) => ({ name })),
      parameters: parametersOf(own),
      deciding: decidingAmong(passed),
      weights: policyFor(passed, options),
    }
    const staged = new StagedGraph(facts, async () => passed, options, fallback && new fallback.Sessions())
    try {
      await staged.#survey(passed, signal)
      return staged
    } catch (error) {
      await staged.dispose()
      throw error
    }
  }

  get inputs(): readonly Input[] {
    return this.#facts.inputs
  }

  get outputTypes(): readonly Input[] {
    return this.#facts.outputTypes.map(({ name, type }) => ({ name, type: type ?? this.#types.get(name) }))
  }

  get parameters(): number {
    return this.#facts.parameters
  }

  /** For `known`, after the survey. */
  get facts(): GraphFacts {
    return { ...this.#facts, outputTypes: this.outputTypes }
  }

  get foreign(): readonly ForeignNode[] {
    return [...this.#foreign.values()]
  }

  /** Waits for the current run to end. */
  async dispose(): Promise<void> {
    this.#isClosed = true
    await this.#queue.run(async () => this.#sessions?.close())
    await this.#caching
    this.machine.dispose()
  }

  /**
   * Every input must be present and have the right dtype. Throws `unsupported` for a shape that does not fit
   * and for nodes that neither runtime supports, `format` for values that a node rejects, and `disposed`.
   */
  run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    return this.#queue.run(async () => {
      const outputs = await this.#run(feeds, signal)
      if (this.#uncached.length > 0) this.#caching = this.#caching.then(() => this.#cache())
      return outputs
    }, signal)
  }

  async #run(feeds: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<Map<string, Tensor>> {
    this.#check(signal)
    const { inputs, deciding, outputTypes } = this.#facts
    checkDtypes({ inputs }, feeds)
    const outputs = outputTypes.map(({ name }) => name)
    const found = new Map<string, Tensor>()
    let values = givenValues(inputs, feeds)
    let stage: Stage | undefined = await this.#stageOf(
      this.#first,
      { inputs, graph: this.#whole, values, deciding, path: '' },
      signal,
    )
    while (stage !== undefined) {
      this.#check(signal)
      const known = expandedValues(values)
      // Others may be constants of the graph, or inputs.
      const isOwn = new Set<string>()
      if (stage.compiled !== undefined) {
        const made = await (await this.machine.open()).run(stage.compiled, known, signal)
        for (const [name, tensor] of made) known.set(name, tensor)
        for (const name of made.keys()) isOwn.add(name)
      }
      for (const part of stage.foreign) {
        const made = await this.#foreignRun(part, stage, known, signal)
        for (const [name, tensor] of made) known.set(name, tensor)
        this.#check(signal)
      }
      for (const name of outputs) {
        const tensor = known.get(name) ?? (await constantOf(stage.graph, name, signal))
        if (tensor !== undefined) found.set(name, isOwn.has(name) ? tensor : ownValue(tensor))
      }
      const { rest, next, deciding, path }: Stage = stage
      values = new Map(rest?.inputs.map(({ name }) => [name, known.get(name)!]))
      const typed: Graph | undefined = rest && withTypes(rest, values)
      stage =
        typed &&
        (await this.#stageOf(
          next,
          { inputs: typed.inputs, graph: async () => typed, values, deciding, path },
          signal,
        ))
    }
    return new Map(outputs.flatMap((name) => (isPresent(found.get(name)!) ? [[name, found.get(name)!]] : [])))
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new HalfbyteError('disposed', 'the network was disposed; load it again')
    signal?.throwIfAborted()
  }

  /**
   * Finds the types of all values as far as they are known without sizes and, with a fallback, the foreign
   * parts that do not depend on sizes.
   */
  async #survey(whole: Graph, signal: AbortSignal | undefined): Promise<void> {
    if (this.#sessions === undefined) {
      for (const [name, type] of inferTypes(whole)) this.#types.set(name, type)
      return
    }
    const sizes = namesOfSizes(whole)
    let graph: Graph | undefined = whole
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

  /** The stage of a graph: the first one, or the rest after another. */
  async #stageOf(stages: LruCache<string, Stage>, planning: Planning, signal?: AbortSignal): Promise<Stage> {
    const { inputs, values, deciding } = planning
    const decided = picked(deciding, values)
    const key = keyOfValues(inputs, values) + valuesOf(decided)
    const known = stages.get(key)
    if (known !== undefined) return known
    const path = planning.path + key
    const start = performance.now()
    const cached = await this.#plans?.read(path, fromCache)
    if (cached !== undefined) endSpan('read the plan', start)
    const stage =
      cached === undefined
        ? await this.#planned(planning, decided, path, signal)
        : await this.#loaded(cached.stage, path, signal, cached.functions)
    stages.set(key, stage)
    return stage
  }

  #drop({ compiled, next }: Stage): void {
    if (compiled !== undefined) this.machine.unload(compiled)
    next.clear()
  }

  async #planned(
    { graph, values }: Planning,
    decided: ReadonlyMap<string, Tensor>,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<Stage> {
    const budget = new ProgramBudget(this.#limits, signal)
    const whole = expandedGraph(await graph(), values)
    const shapes = shapesOf(expandedValues(values))
    const start = performance.now()
    const bound = boundGraph(whole, shapes, COMPILER_PASSES, budget, decided)
    const fallback = this.#sessions && 'ort'
    const planned = planStage(bound, { weights: this.machine.weights, budget, fallback })
    endSpan('plan the program', start)
    const stage = await this.#loaded(planned, path, signal)
    if (this.#plans === undefined) return stage
    const machine = await this.machine.open()
    const functions = planned.compiled && machine.functionsOf(planned.compiled.program)
    const outputs = this.#facts.outputTypes.map(({ name }) => name)
    this.#uncached.push({ path, entry: () => toCache(planned, outputs, functions ?? new Map()) })
    return stage
  }

  async #loaded(
    planned: RunnableStage,
    path: string,
    signal?: AbortSignal,
    functions?: Functions,
  ): Promise<Stage> {
    this.#note(planned.reasons)
    const { compiled } = planned
    const load = async ({ program, graph: { constants } }: NonNullable<typeof compiled>) => {
      const graph = { constants: this.#pool?.shared(constants) ?? constants }
      return (await this.machine.open()).load(program, graph, signal, functions)
    }
    const loaded = compiled && (await load(compiled))
    const next = new LruCache<string, Stage>(MAX_PROGRAMS, (each) => this.#drop(each))
    return { ...planned, compiled: loaded, next, path }
  }

  /** Writes stages to the cache after a run, so that the run's caller need not wait for it. */
  async #cache(): Promise<void> {
    await quickTurn()
    for (const { path, entry } of this.#uncached.splice(0)) await this.#plans?.write(path, entry())
  }
}

/** Whether an optional output has a value. */
const isPresent = ({ dtype }: Tensor): boolean => dtype !== 'none'

/** An output that passes have already computed. */
async function constantOf(
  { constants }: Pick<Graph, 'constants'>,
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
