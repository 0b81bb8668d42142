// Queries, keys and values in one tensor: all queries first, or each KV head's queries with its key and
// value.
import type { ModelConfig } from '../../config/config.ts'
import type { Names, StoredWeight } from '../../family.ts'

type Runs = NonNullable<StoredWeight['runs']>

/** `runsOf`: the rows of part 0 (queries), 1 (keys) or 2 (values). `form`: how the file stores the matrix. */
export const mergedParts = (
  name: string,
  runsOf: (config: ModelConfig, part: number) => Runs,
  form?: StoredWeight['form'],
): Names =>
  Object.fromEntries(
    ['q', 'k', 'v'].flatMap((letter, part) =>
      (['weight', 'bias'] as const).map((kind) => [
        `layers.N.attn_${letter}.${kind}`,
        (config: ModelConfig): StoredWeight => {
          const rows = (config.heads + 2 * config.kvHeads) * config.headDim
          const place = { tensor: `${name}.${kind}`, runs: runsOf(config, part) }
          if (kind === 'bias') return { ...place, shape: [rows] }
          return { ...place, shape: [rows, config.hiddenSize], form }
        },
      ]),
    ),
  )

/** All queries, then all keys, then all values. */
export const stackedQkv = (name: string, form?: StoredWeight['form']): Names =>
  mergedParts(
    name,
    ({ heads, kvHeads, headDim }, part) => {
      const first = [0, heads, heads + kvHeads][part]!
      return [[first * headDim, (part === 0 ? heads : kvHeads) * headDim]]
    },
    form,
  )

/** For each KV head: its queries, its key and its value. */
export const groupedQkv = (name: string): Names =>
  mergedParts(name, ({ heads, kvHeads, headDim }, part) => {
    const queries = heads / kvHeads
    const first = [0, queries, queries + 1][part]!
    return Array.from({ length: kvHeads }, (_, head) => [
      (head * (queries + 2) + first) * headDim,
      (part === 0 ? queries : 1) * headDim,
    ])
  })
