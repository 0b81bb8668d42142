// The translator: turns a decoder's ONNX graph into the graph of one step, along with its weights and facts
// about the model. Errors name what cannot be translated.
import type { Budget } from '../../../core/base/budget.ts'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { GraphBuilder } from '../../../core/graph/builder.ts'
import type { Limits, Value } from '../../../core/graph/ir.ts'
import type { Graph as StepGraph } from '../../../core/graph/nodes.ts'
import { graphBudget } from '../graph-budget.ts'
import type { Dim } from '../ir/dims.ts'
import { type Graph, type Node, readersOf, readsOf } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { type DType, isFloat } from '../ir/tensor.ts'
import { operatorName } from '../operator-table.ts'
import { operatorOf, whyUnclaimed } from '../operators.ts'
import { type Findings, noFindings } from './findings.ts'
import { finishStep } from './finish-step.ts'
import { Meanings } from './known/meanings.ts'
import { normedRows } from './known/normed-rows.ts'
import { States } from './known/states.ts'
import { Tail } from './known/tail.ts'
import { KnownTypes } from './known/types.ts'
import type { Heads, Meaning } from './meaning.ts'
import { mergeProducts, nameSteps } from './merge-products.ts'
import { Prober } from './probe.ts'
import { Products } from './products.ts'
import { whyNoDecoder, whyUnread } from './refusals.ts'
import { WeightTable } from './weights/weight-table.ts'

/**
 * Translates one kind of node. Returns `false` if this form of the node cannot be part of a step; it may
 * still be control.
 */
export type Handler = (translator: Translator, node: Node) => boolean | Promise<boolean>
/** Keyed by `operatorName`. */
export type Handlers = ReadonlyMap<string, Handler>

export interface Translation {
  readonly graph: StepGraph
  readonly weights: WeightTable
  readonly findings: Findings
}

interface TranslatorOptions {
  /** Limits the work that the file may cause. Default: the budget of one file. */
  readonly budget?: Budget | undefined
  readonly signal?: AbortSignal | undefined
  /** The context length according to the files next to the graph. Default: `PROVEN_POSITIONS`. */
  readonly positions?: number | undefined
}

/** The number of positions for which control values are proven if no file states the context. */
export const PROVEN_POSITIONS = 32_768

/** What is needed to prove control values. */
interface Control {
  /** Computes control values for a step of given sizes. */
  readonly prober: Prober
  /** Maximum positions of the context. */
  readonly end: number
  /** Proven windows of masks, by name. */
  readonly masks: Map<string, number>
}

/** Facts about rows that handlers need beyond the node that produces them. */
interface RowFacts {
  /** For normalised rows: the rows before the norm, and the norm. */
  readonly normed: Map<Value, Pick<Heads, 'value' | 'norm'>>
  /** Known ranges of rows. */
  readonly limited: Map<Value, Limits>
  /** Sums that were merged into the product before them. */
  readonly biased: Set<Node>
}

/** Walks the nodes of a graph. Its members hold what is known about them, by subject. */
export class Translator {
  readonly file: string
  readonly graph: Graph
  readonly signal: AbortSignal | undefined
  readonly budget: Budget
  readonly b: GraphBuilder
  readonly weights: WeightTable
  readonly products: Products
  readonly findings: Findings = noFindings()
  readonly types: KnownTypes
  readonly meanings: Meanings
  readonly states: States
  readonly tail: Tail
  readonly control: Control
  readonly facts: RowFacts = { normed: new Map(), limited: new Map(), biased: new Set() }
  readonly #handlers: Handlers
  readonly #readers: ReadonlyMap<string, readonly Node[]>
  /** Nodes that were translated together with another node. */
  readonly #done = new Set<Node>()

  constructor(
    file: string,
    graph: Graph,
    handlers: Handlers,
    b: GraphBuilder,
    { signal, budget = graphBudget(signal), positions = PROVEN_POSITIONS }: TranslatorOptions = {},
  ) {
    this.file = file
    this.graph = graph
    this.signal = signal
    this.budget = budget
    this.b = b
    this.weights = new WeightTable(file, graph)
    this.products = new Products(b, this.weights)
    this.types = new KnownTypes(graph)
    this.meanings = new Meanings((meaning, label) => openRows(this, meaning, label))
    this.states = new States(graph.inputs.filter(({ type }) => isFloat(type?.dtype ?? 'i64')))
    this.tail = new Tail(graph, b)
    this.control = { prober: new Prober(graph, this.types.all, budget), end: positions, masks: new Map() }
    this.#handlers = handlers
    this.#readers = readersOf(graph)
  }

  async run(): Promise<Translation> {
    for (const { name, type } of this.graph.inputs)
      this.meanings.name(name, meaningOfInput(name, type?.dtype ?? 'f32'))
    for (const name of this.graph.constants.keys()) this.meanings.name(name, { is: 'constant', name })
    this.#checkIds()
    for (const node of this.graph.nodes) {
      await this.budget.turn()
      if (this.types.inferAgain(node)) this.control.prober.readTypes()
      if (!this.#done.has(node)) await this.#translate(node)
    }
    const step = mergeProducts(finishStep(this.#finish(), this.findings))
    this.weights.removeUnread(step)
    return {
      graph: nameSteps(step, this.weights),
      weights: this.weights,
      findings: this.findings,
    }
  }

  /** The graph's symbols for batch and tokens. */
  get idsDims(): readonly Dim[] {
    const ids = this.graph.inputs.find(({ name }) => this.meanings.of(name)?.is === 'ids')
    return ids?.type?.dims ?? []
  }

  /** The nodes that read a value, listed once per read. */
  readersOf(name: string): readonly Node[] {
    return this.#readers.get(name) ?? []
  }

  /** The node that reads an output, if only one node does, and only once. */
  onlyReader(node: Node, output = 0): Node | undefined {
    const name = node.outputs[output] ?? ''
    if (this.graph.outputs.includes(name)) return undefined
    const [reader, ...others] = this.readersOf(name)
    return others.length === 0 ? reader : undefined
  }

  /** Translates a node ahead of its turn. Its inputs must already be translated. */
  async ahead(node: Node): Promise<void> {
    if (this.meanings.has(node.outputs[0] ?? '')) return
    this.take(node)
    await this.#translate(node)
  }

  /** Marks `node` as translated by the caller. */
  take(node: Node): void {
    this.#done.add(node)
  }

  /** The graph of the step. Throws `unsupported` if the nodes do not form one. */
  #finish(): StepGraph {
    const begin = this.graph.nodes[0]
    const end = this.graph.nodes.at(-1)
    if (begin === undefined || end === undefined)
      throw new HalfbyteError('unsupported', `${this.file}: the graph has no nodes; give a decoder`)
    const [first = ''] = this.graph.outputs
    if (this.findings.layers === 0)
      throw unclaimed(begin, whyNoDecoder(this.graph, this.types.get(first)?.dims))
    const logits = this.meanings.of(first)
    const { hidden } = this.tail
    if (logits?.is !== 'rows' || hidden === undefined)
      throw unclaimed(end, `the output ${first} is not computed from a step's rows, although logits must be`)
    this.states.check(end, this.graph.outputs, (name) => this.meanings.of(name))
    return this.b.finish(logits.value, hidden)
  }

  /** A step has one input of token ids. */
  #checkIds(): void {
    const read = this.graph.nodes.flatMap((node) =>
      node.inputs.filter((name) => this.meanings.of(name)?.is === 'ids').map((name) => ({ node, name })),
    )
    const other = read.find(({ name }) => name !== read[0]?.name)
    if (other !== undefined)
      throw unclaimed(other.node, `it reads ${other.name}, but the ids come from ${read[0]?.name}`)
  }

  async #translate(node: Node): Promise<void> {
    const handler = this.#handlers.get(operatorName(node))
    if (handler !== undefined) this.#checkForm(node)
    if (handler !== undefined && (await this.#handle(handler, node))) return
    const isOfShape = node.op === 'Shape' || node.op === 'Size'
    const wrong = this.#notControl(node)
    if (wrong === undefined || isOfShape) {
      for (const [index, name] of node.outputs.entries())
        this.meanings.set(node, index, { is: 'control', name })
      return
    }
    const seen = { name: wrong, meaning: this.meanings.of(wrong), dims: this.types.get(wrong)?.dims }
    throw unclaimed(node, whyUnread(node, seen, handler !== undefined))
  }

  /** A value read by the node, or by a graph in its attributes, that is not control. */
  #notControl(node: Node): string | undefined {
    return readsOf(node).find((name) => {
      const is = this.meanings.of(name)?.is
      const isInner = is === undefined && !node.inputs.includes(name)
      return !isInner && is !== 'control' && is !== 'constant'
    })
  }

  /** Handlers read only the known attributes and inputs of operators; others might change the result. */
  #checkForm(node: Node): void {
    if (operatorOf(node) === undefined) return
    const inputs = node.inputs.slice(0, node.inputs.findLastIndex((name) => name !== '') + 1)
    const dtypes = inputs.map((name) => this.types.get(name)?.dtype)
    const why = whyUnclaimed({ ...node, inputs }, dtypes)
    if (why !== undefined) throw unclaimed(node, why)
  }

  /** Mismatched rows would be a bug in a family's graph, but here the file is to blame. */
  async #handle(handler: Handler, node: Node): Promise<boolean> {
    try {
      return await handler(this, node)
    } catch (error) {
      throw isHalfbyteError(error) && error.code === 'internal' ? unclaimed(node, error.message) : error
    }
  }
}

function meaningOfInput(name: string, dtype: DType): Meaning {
  if (isFloat(dtype)) return { is: 'state', name }
  return /ids?$/.test(name) && !/position|type|cache|beam/.test(name)
    ? { is: 'ids' }
    : { is: 'control', name }
}

/** Creates the nodes of an unresolved meaning. Undefined if it does not stand for rows. */
function openRows(t: Translator, meaning: Meaning, label: string): Value | undefined {
  if (meaning.is === 'normed') return normedRows(t, meaning, meaning.weight?.node.outputs[0] ?? label)
  if (meaning.is === 'scaled') return t.b.rescale(label, meaning.value, meaning.scale, meaning.cap)
  if (meaning.is === 'gate') return t.b.swiglu(label, [meaning.value], meaning.activation)
  return undefined
}
