// The translator: turns a decoder's ONNX graph into the graph of one step, with its weights and facts about
// the model. Errors name whatever cannot be translated.
import type { Budget } from '../../../core/base/budget.ts'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { GraphBuilder } from '../../../core/graph/builder.ts'
import type { Limits, Value } from '../../../core/graph/ir.ts'
import type { Graph as StepGraph } from '../../../core/graph/nodes.ts'
import { graphBudget } from '../graph-budget.ts'
import { inferAgain, inferTypes, type Types } from '../infer.ts'
import type { Dim } from '../ir/dims.ts'
import { type Graph, type Input, isStored, type Node, readersOf, readsOf, type Type } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { isFloat } from '../ir/tensor.ts'
import { operatorOf, whyUnclaimed } from '../operators.ts'
import { type Findings, noFindings } from './findings.ts'
import type { Heads, Meaning } from './meaning.ts'
import { mergeProducts, nameSteps } from './merge-products.ts'
import { Prober } from './probe.ts'
import { Products } from './products.ts'
import { normedRows } from './recurrence.ts'
import { whyNoDecoder, whyUnread } from './refusals.ts'
import { settled } from './settled.ts'
import { isRecurrentState, tailOf, wronglyLeft } from './tail.ts'
import { WeightTable } from './weights/weight-table.ts'

/**
 * Translates one kind of node. `false`: this form of the node is not supported as part of a step; it may
 * still be control.
 */
export type Handler = (translator: Translator, node: Node) => boolean | Promise<boolean>
export type Handlers = ReadonlyMap<string, Handler>

export interface Translation {
  readonly graph: StepGraph
  readonly weights: WeightTable
  readonly findings: Findings
}

export interface TranslatorOptions {
  /** Limits the work that the file may cause. Default: that of one file. */
  readonly budget?: Budget | undefined
  readonly signal?: AbortSignal | undefined
  /** The context length according to the files beside the graph. Default: `PROVEN_POSITIONS`. */
  readonly positions?: number | undefined
}

/** The number of positions for which control values are proven if no file states the context. */
export const PROVEN_POSITIONS = 32_768

export class Translator {
  readonly file: string
  readonly graph: Graph
  readonly b: GraphBuilder
  readonly weights: WeightTable
  readonly products: Products
  readonly signal: AbortSignal | undefined
  readonly budget: Budget
  readonly findings: Findings = noFindings()
  readonly #types: Map<string, Type>
  /** Whether handlers know more of types than inference. */
  #hasLearned = false
  readonly #handlers: Handlers
  readonly #values = new Map<string, Meaning>()
  readonly #readers: ReadonlyMap<string, readonly Node[]>
  /** Nodes whose bias was taken over by the product before them. */
  readonly #biased = new Set<Node>()
  /** Nodes that were translated together with another. */
  readonly #done = new Set<Node>()
  /** Between the last norm and the logits, in the direction of the computation. */
  readonly #tail: readonly Node[]
  /** Windows of masks that were proven, by name. */
  readonly masks = new Map<string, number>()
  /** For normed rows: the rows before the norm, and the norm. */
  readonly normed = new Map<Value, Pick<Heads, 'value' | 'norm'>>()
  /** Ranges that rows are known to be in. */
  readonly limited = new Map<Value, Limits>()
  /** The new value of each state of a recurrent layer, as text. */
  readonly left = new Map<string, string>()
  /** The value that has each state of keys or values with the step's own appended. */
  readonly #grown = new Map<string, Meaning>()
  /** Computes control values for steps of a size. */
  readonly prober: Prober
  /** Positions that a context may have. */
  readonly end: number
  /** Rows made for meanings that were still open when they were first read. */
  readonly #made = new Map<Meaning, Value>()
  #isTaken = false
  #hidden: Value | undefined

  constructor(
    file: string,
    graph: Graph,
    handlers: Handlers,
    b: GraphBuilder,
    { signal, budget = graphBudget(signal), positions = PROVEN_POSITIONS }: TranslatorOptions = {},
  ) {
    this.file = file
    this.b = b
    this.graph = graph
    this.weights = new WeightTable(file, graph)
    this.products = new Products(b, this.weights)
    this.signal = signal
    this.#types = new Map(inferTypes(graph))
    this.budget = budget
    this.prober = new Prober(graph, this.types, budget)
    this.end = positions
    this.#handlers = handlers
    this.#readers = readersOf(graph)
    this.#tail = tailOf(graph)
  }

  async run(): Promise<Translation> {
    for (const { name, type } of this.graph.inputs)
      this.#values.set(name, this.#input(name, type?.dtype ?? 'f32'))
    for (const name of this.graph.constants.keys()) this.#values.set(name, { is: 'constant', name })
    this.#checkIds()
    for (const node of this.graph.nodes) {
      await this.budget.turn()
      if (this.#hasLearned && this.dimsOf(node) === undefined) {
        inferAgain(this.graph, this.#types, node)
        this.prober.readTypes()
      }
      if (!this.#done.has(node)) await this.#translate(node)
    }
    const begin = this.graph.nodes[0]
    const end = this.graph.nodes.at(-1)
    if (begin === undefined || end === undefined)
      throw new HalfbyteError('unsupported', `${this.file}: the graph has no nodes; give a decoder`)
    const [first = ''] = this.graph.outputs
    if (this.findings.layers === 0)
      throw unclaimed(begin, whyNoDecoder(this.graph, this.types.get(first)?.dims))
    const logits = this.#values.get(first)
    if (logits?.is !== 'rows' || this.#hidden === undefined)
      throw unclaimed(end, `the output ${first} is not made of the rows of a step, as logits are`)
    this.#checkStates(end)
    const graph = this.b.finish(logits.value, this.#hidden)
    const step = mergeProducts(settled(graph, this.findings))
    this.weights.removeUnread(step)
    return {
      graph: nameSteps(step, this.weights),
      weights: this.weights,
      findings: this.findings,
    }
  }

  /** The meaning of a node's input; undefined if it is left out. */
  read(node: Node, index: number): Meaning | undefined {
    const name = node.inputs[index] ?? ''
    return name === '' ? undefined : this.meaningOf(name)
  }

  meaningOf(name: string): Meaning | undefined {
    return this.#values.get(name)
  }

  /** The rows of an input. Throws `unsupported` for one that is something else. */
  rows(node: Node, index: number): Value {
    const meaning = this.read(node, index)
    const value = meaning && this.#rowsOf(meaning, node.name)
    if (value !== undefined) return value
    throw unclaimed(node, `its input ${index} is ${meaning?.is ?? 'left out'} instead of rows of tokens`)
  }

  isRows(node: Node, index: number): boolean {
    const is = this.read(node, index)?.is
    return is === 'rows' || is === 'gate' || is === 'normed' || is === 'scaled'
  }

  set(node: Node, output: number, meaning: Meaning): void {
    const name = node.outputs[output] ?? ''
    if (name !== '') this.#values.set(name, meaning)
  }

  setRows(node: Node, output: number, value: Value): void {
    this.set(node, output, { is: 'rows', value })
  }

  /** The type of each value, as far as it is known. */
  get types(): Types {
    return this.#types
  }

  /** An output has the shape of an input, though inference does not know it. */
  learnShape(node: Node, index: number): void {
    const type = this.#types.get(node.inputs[index] ?? '')
    if (type?.dims !== undefined) this.learn(node, type)
  }

  /** The first output has this type. Nothing changes where its shape is known. */
  learn(node: Node, type: Type): void {
    if (this.dimsOf(node) !== undefined) return
    this.#types.set(node.outputs[0] ?? '', type)
    this.#hasLearned = true
  }

  /** Dims of an output; undefined if they are unknown. */
  dimsOf(node: Node, output = 0): readonly Dim[] | undefined {
    return this.types.get(node.outputs[output] ?? '')?.dims
  }

  /** A constant input of one number. */
  scalar(node: Node, index: number): number | undefined {
    const constant = this.graph.constants.get(node.inputs[index] ?? '')
    if (constant === undefined || isStored(constant) || constant.data.length !== 1) return undefined
    return Number(constant.data[0])
  }

  /** Whole numbers of an input that inference knows. */
  known(node: Node, index: number): readonly number[] | undefined {
    const name = node.inputs[index] ?? ''
    const elements = this.types.get(name)?.elements
    return elements?.every((each) => typeof each === 'number') ? (elements as number[]) : undefined
  }

  /** Whether the graph has keys and values of earlier steps as inputs. */
  get hasState(): boolean {
    return this.#states.length > 0
  }

  get isRecurrent(): boolean {
    return this.#states.some(isRecurrentState)
  }

  get #states(): readonly Input[] {
    return this.graph.inputs.filter(({ type }) => isFloat(type?.dtype ?? 'i64'))
  }

  /** Batch and tokens, as the graph names them. */
  get idsDims(): readonly Dim[] {
    const ids = this.graph.inputs.find(({ name }) => this.meaningOf(name)?.is === 'ids')
    return ids?.type?.dims ?? []
  }

  /** The nodes that read a value, once for each read. */
  readersOf(name: string): readonly Node[] {
    return this.#readers.get(name) ?? []
  }

  /** Translates a node before its turn. What it reads must be known. */
  async ahead(node: Node): Promise<void> {
    if (this.#values.has(node.outputs[0] ?? '')) return
    this.take(node)
    await this.#translate(node)
  }

  /** The only node that reads an output, and reads it once. */
  onlyReader(node: Node, output = 0): Node | undefined {
    const name = node.outputs[output] ?? ''
    if (this.graph.outputs.includes(name)) return undefined
    const [reader, ...others] = this.readersOf(name)
    return others.length === 0 ? reader : undefined
  }

  /** Marks `node` as translated by the caller. */
  take(node: Node): void {
    this.#done.add(node)
  }

  /** Marks the bias of `node` as taken over by the product before it. */
  takeBias(node: Node): void {
    this.#biased.add(node)
  }

  hasBias(node: Node): boolean {
    return this.#biased.has(node)
  }

  /** True on the way from the last norm to the logits, where only wanted rows are. */
  isInTail(node: Node): boolean {
    return this.#tail.includes(node)
  }

  /** The rows that a norm reads; those of the last norm are only the wanted ones. */
  beforeNorm(node: Node, value: Value): Value {
    if (this.#tail[0] !== node || this.#isTaken) return value
    this.#isTaken = true
    return this.b.takeRows('wanted', value)
  }

  /** Remembers what logits are made of. */
  afterNorm(node: Node, value: Value): void {
    if (this.#tail[0] === node) this.#hidden = value
  }

  isLogits(node: Node): boolean {
    const [name = ''] = this.graph.outputs
    const after = this.#tail.indexOf(node)
    return after >= 0 && (node.outputs.includes(name) || !this.#tail.slice(after + 1).some(isProduct))
  }

  /** A step has the ids of one text. */
  #checkIds(): void {
    const read = this.graph.nodes.flatMap((node) =>
      node.inputs.filter((name) => this.meaningOf(name)?.is === 'ids').map((name) => ({ node, name })),
    )
    const other = read.find(({ name }) => name !== read[0]?.name)
    if (other !== undefined)
      throw unclaimed(other.node, `it reads ${other.name}, but the ids come from ${read[0]?.name}`)
  }

  /** The next step gets the states as this step leaves them. */
  #checkStates(node: Node): void {
    const wrong = wronglyLeft(this.#states, this.graph.outputs, {
      meaningOf: (name) => this.meaningOf(name),
      grown: this.#grown,
      left: this.left,
    })
    if (wrong !== undefined) throw unclaimed(node, wrong)
  }

  /** Records that `meaning` is the state with the step's additions. */
  grow(node: Node, state: string, meaning: Meaning): void {
    if (this.#grown.has(state)) throw unclaimed(node, `it adds to the state ${state} a second time`)
    this.#grown.set(state, meaning)
  }

  #input(name: string, dtype: Parameters<typeof isFloat>[0]): Meaning {
    if (isFloat(dtype)) return { is: 'state', name }
    return /ids?$/.test(name) && !/position|type|cache|beam/.test(name)
      ? { is: 'ids' }
      : { is: 'control', name }
  }

  async #translate(node: Node): Promise<void> {
    const key = `${node.domain}:${node.op}`
    const handler = this.#handlers.get(key)
    if (handler !== undefined) this.#checkForm(node)
    if (handler !== undefined && (await this.#handle(handler, node))) return
    const isOfShape = node.op === 'Shape' || node.op === 'Size'
    const wrong = this.#notControl(node)
    if (wrong === undefined || isOfShape) {
      for (const [index, name] of node.outputs.entries()) this.set(node, index, { is: 'control', name })
      return
    }
    const seen = { name: wrong, meaning: this.meaningOf(wrong), dims: this.types.get(wrong)?.dims }
    throw unclaimed(node, whyUnread(node, seen, handler !== undefined))
  }

  /** A value that is not control and that the node, or a graph in its attributes, reads. */
  #notControl(node: Node): string | undefined {
    return readsOf(node).find((name) => {
      const is = this.meaningOf(name)?.is
      const isInner = is === undefined && !node.inputs.includes(name)
      return !isInner && is !== 'control' && is !== 'constant'
    })
  }

  /**
   * Handlers read the attributes and inputs that operators are known to have; others may change what they do.
   */
  #checkForm(node: Node): void {
    if (operatorOf(node) === undefined) return
    const inputs = node.inputs.slice(0, node.inputs.findLastIndex((name) => name !== '') + 1)
    const dtypes = inputs.map((name) => this.types.get(name)?.dtype)
    const why = whyUnclaimed({ ...node, inputs }, dtypes)
    if (why !== undefined) throw unclaimed(node, why)
  }

  /** Rows that do not fit are a bug in a family's graph, but here a property of the file. */
  async #handle(handler: Handler, node: Node): Promise<boolean> {
    try {
      return await handler(this, node)
    } catch (error) {
      throw isHalfbyteError(error) && error.code === 'internal' ? unclaimed(node, error.message) : error
    }
  }

  /** Makes the nodes of an open meaning, once, however many nodes read it. */
  #rowsOf(meaning: Meaning, label: string): Value | undefined {
    if (meaning.is === 'rows') return meaning.value
    const known = this.#made.get(meaning)
    if (known !== undefined) return known
    const value = this.#make(meaning, label)
    if (value !== undefined) this.#made.set(meaning, value)
    return value
  }

  #make(meaning: Meaning, label: string): Value | undefined {
    if (meaning.is === 'normed') return normedRows(this, meaning, meaning.weight?.node.outputs[0] ?? label)
    if (meaning.is === 'scaled') return this.b.rescale(label, meaning.value, meaning.scale, meaning.cap)
    if (meaning.is === 'gate') return this.b.swiglu(label, [meaning.value], meaning.activation)
    return undefined
  }
}

const isProduct = ({ op }: Node): boolean => /MatMul|Gemm/.test(op)
