// Measures, for each product of the float model, what each format would lose. Results are work files, so an
// interrupted run can be resumed.
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { parseJson } from '../../../core/base/json.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type Losses, lossesOf } from '../matrix/mixed.ts'
import { readMatrix } from './gram.ts'
import { type Product, type WalkOptions, walk } from './walk.ts'
import { prefixed, readWork } from './work-files.ts'

export interface Surveyed {
  /** Names of the product's matrices. */
  readonly parts: readonly string[]
  readonly losses: Losses
}

/** Throws what `walk` throws. */
export async function survey(
  prepared: PreparedModel,
  options: Omit<WalkOptions, 'visit' | 'drift'>,
): Promise<readonly Surveyed[]> {
  const { work, signal } = options
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
      const surveyed: Surveyed = {
        parts: product.parts.map(({ name }) => name),
        losses: lossesOf(matrices, own),
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
