// Measures, for each product of the float model, scales for its inputs and what each format would lose.
// Results are work files, so a run that was stopped can continue.
import { buildGraph } from '../../arch/families.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { parseJson } from '../../base/json.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { WeightRef } from '../../graph/ir.ts'
import { type Graph, producersOf, readersOf } from '../../graph/nodes.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { importanceOf, searchScales } from '../matrix/awq.ts'
import { type Losses, lossesOf } from '../matrix/mixed.ts'
import { readMatrix } from './gram.ts'
import { type Product, type WalkOptions, walk } from './walk.ts'
import { prefixed, readWork } from './work-files.ts'

/** Dividing these by a scale per input divides the inputs of the product by it, and nothing else. */
interface Producer {
  /** Vectors with a number for each input: a norm's weight and bias. */
  readonly vectors: readonly string[]
  /** The matrix with a row for each input: the side of a gated block that is not activated. */
  readonly matrix?: string | undefined
}

const namesOf = (...refs: readonly (WeightRef | undefined)[]): string[] =>
  refs.flatMap((ref) => ref?.parts.map(({ name }) => name) ?? [])

/**
 * By the first matrix of the product. Only inputs that one product alone reads have a producer: of a norm, or
 * of a gated block behind two linears.
 */
function producersOfProducts(graph: Graph): ReadonlyMap<string, Producer> {
  const makers = producersOf(graph)
  const readers = readersOf(graph)
  const found = new Map<string, Producer>()
  for (const node of graph.nodes) {
    if (node.op !== 'linear' || readers.get(node.input.id)?.length !== 1) continue
    const maker = graph.nodes[makers.get(node.input.id) ?? -1]
    const [first = ''] = namesOf(node.weight)
    if (maker?.op === 'rmsnorm' && (maker.parts ?? 1) === 1)
      found.set(first, { vectors: namesOf(maker.weight) })
    else if (maker?.op === 'layernorm') found.set(first, { vectors: namesOf(maker.weight, maker.bias) })
    else if (maker?.op === 'swiglu' && maker.up !== undefined) {
      const up = first.replace('mlp_down', 'mlp_up')
      if (up !== first) found.set(first, { vectors: [], matrix: up })
    }
  }
  return found
}

export interface Surveyed {
  /** Names of the product's matrices. */
  readonly parts: readonly string[]
  readonly losses?: Losses | undefined
  /** AWQ's scales, for products whose inputs have a producer that can be divided. */
  readonly scaling?: Scaling | undefined
  /** How much an error in each input counts, of the scaled weights, [k]. */
  readonly importance: readonly number[]
}

export interface Scaling {
  readonly scales: readonly number[]
  readonly exponent: number
  readonly producer: Producer
}

export interface SurveyOptions extends Omit<WalkOptions, 'visit' | 'drift'> {
  /** What scales are searched for; absent: none are. */
  readonly scaledFor?: Format | undefined
  readonly withLosses: boolean
}

/** Throws what `walk` throws. */
export async function survey(prepared: PreparedModel, options: SurveyOptions): Promise<readonly Surveyed[]> {
  const { work, signal, scaledFor, withLosses } = options
  const producers = producersOfProducts(buildGraph(prepared.config))
  const found: Surveyed[] = []
  await walk(prepared, {
    ...options,
    work: prefixed(work, 'survey-'),
    async visit(product, stats) {
      const known = await readWork(work, fileOf(product))
      if (known !== undefined) return undefined
      const own = await stats()
      const matrices = []
      for (const { name, n } of product.parts)
        matrices.push({ n, weights: await readMatrix(weightOf(prepared.weights, name), signal) })
      const producer = producers.get(product.parts[0]?.name ?? '')
      const search =
        scaledFor !== undefined && producer !== undefined ? searchScales(matrices, own, scaledFor) : undefined
      const scales = search?.scales ?? new Float64Array(product.k).fill(1)
      const surveyed: Surveyed = {
        parts: product.parts.map(({ name }) => name),
        losses: withLosses ? lossesOf(matrices, own) : undefined,
        scaling: search && producer && { scales: [...scales], exponent: search.exponent, producer },
        importance: [...importanceOf(own, scales)],
      }
      await work.write(fileOf(product), [new TextEncoder().encode(JSON.stringify(surveyed))])
      return undefined
    },
  })
  for (const { ref } of prepared.plan.slots) {
    const [first] = ref.parts
    const known = first && (await readWork(work, fileOf({ parts: [first] })))
    if (known !== undefined) found.push(parseJson(new TextDecoder().decode(known)) as Surveyed)
  }
  return found
}

const fileOf = ({ parts }: Pick<Product, 'parts'>): string => `${parts[0]?.name}.survey`
