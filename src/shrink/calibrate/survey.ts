// Surveys. In: a prepared model, calibration windows. Out: for each product of the float model, scales for
// its inputs and what each format would lose. Results are work files, so a run that was stopped goes on.
import { buildGraph } from '../../arch/families.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { parseJson } from '../../base/json.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { importanceOf, searchScales } from '../matrix/awq.ts'
import { type Losses, lossesOf } from '../matrix/mixed.ts'
import { type Producer, producersOfProducts } from '../matrix/producers.ts'
import { readMatrix } from './read-matrix.ts'
import { type Product, type WalkOptions, walk } from './walk.ts'
import { prefixed, readWork } from './work-files.ts'

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
