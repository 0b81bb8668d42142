// Encodings on shards. In: a Qwen2 with biases in every stored type, dense and sparse. Out: whether 2, 3 and
// 4 shards give one thread's logits.
import { describe, expect, test } from 'vitest'
import { type SparseFormat, sparseEncodings, sparseParts } from '../../../src/core/abi/encodings.ts'
import type { DType } from '../../../src/core/formats/tensors.ts'
import { CODED_DTYPES } from '../../../src/core/formats/testing/random-blocks.ts'
import type { WeightPolicy } from '../../../src/core/weights/policy.ts'
import { UNITS } from '../../../src/core/weights/sparse/testing/matrices.ts'
import { Random } from '../../helpers/random.ts'
import { BOUNDS } from '../testing/families/matrix.ts'
import { packOf } from '../testing/families/matrix-families.ts'
import { safetensorsFiles } from '../testing/model-files.ts'
import { type Files, logitsOf, relativeError, withBuilt } from '../testing/node-engine.ts'
import { type RandomModel, randomLlama } from '../testing/random-llama.ts'
import { typedGguf } from '../testing/writers/typed-gguf.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const SIZES = { layers: 1, heads: 4, kvHeads: 2, headDim: 64, intermediate: 512 } as const
const MODEL = randomLlama({ family: 'qwen2', seed: 9, ...SIZES })
/** Wide enough to be split at boundaries between groups of 256 inputs, which share a scale. */
const WIDE = randomLlama({ family: 'qwen2', seed: 9, ...SIZES, headDim: 256, intermediate: 1024 })
const FLOATS: readonly DType[] = ['F32', 'F16', 'BF16']
const DTYPES: readonly DType[] = [...FLOATS, 'Q8_0', 'Q4_0', 'Q4_1', ...CODED_DTYPES]

/** The difference between this many shards and one thread. */
async function differenceOf(files: Files, threads: number, weights: WeightPolicy = 'auto') {
  const right = await withBuilt(files, { weights }, (built) => logitsOf(built, TOKENS))
  return withBuilt(files, { weights, pool: 'shards', threads }, async (built) => {
    expect(built.info).toMatchObject({ pool: 'shards', threads })
    return relativeError(await logitsOf(built, TOKENS), right)
  })
}

/** 2, 3 and 4 in turn. */
const shardsOf = (turn: number): number => 2 + (turn % 3)

describe('shards have the logits of one thread', () => {
  test.each(DTYPES.map((dtype, turn) => [dtype, shardsOf(turn)] as const))(
    'with matrices in %s, %i of them',
    async (dtype, threads) => {
      const isTernary = dtype.startsWith('TQ')
      const file = await typedGguf(isTernary ? WIDE : MODEL, () => dtype)
      // Each shard has its own scale for its part of a row.
      const quantized = isTernary ? BOUNDS.channel : BOUNDS.quantized
      const bound = FLOATS.includes(dtype) ? BOUNDS.float : quantized
      expect(await differenceOf([file], threads)).toBeLessThan(bound)
    },
  )

  test('or run on one thread, if a scale of 2-bit weights spans every split', async () => {
    const file = await typedGguf(MODEL, () => 'TQ2_0')
    const info = await withBuilt([file], { pool: 'shards', threads: 2 }, async (built) => built.info)
    expect(info).toMatchObject({ pool: 'single', threads: 1 })
  })

  test('with a mix like Q4_K_M', async () => {
    const file = await typedGguf(MODEL, (name) => (/attn_v|ffn_down/.test(name) ? 'Q6_K' : 'Q4_K'))
    expect(await differenceOf([file], 3)).toBeLessThan(BOUNDS.quantized)
  })

  test('with one scale per output', async () => {
    const files = safetensorsFiles(MODEL)
    expect(await differenceOf(files, 4, 'w4_channel')).toBeLessThan(BOUNDS.channel)
  })

  test.each(
    (['w4', 'w8'] as const).flatMap((weights) =>
      sparseEncodings(`${weights}_g32`).map((encoding, turn) => ({
        weights,
        sparse: sparseParts(encoding).format,
        threads: shardsOf(turn),
      })),
    ),
  )('with a pack in $weights that keeps $sparse, $threads of them', async ({ weights, sparse, threads }) => {
    let stored = 0
    const onChoice = (_: string, encoding: string) => {
      if (encoding.endsWith(sparse)) stored++
    }
    const pack = await packOf(safetensorsFiles(thinned(MODEL, sparse)), weights, { sparse, onChoice })
    expect(stored).toBe(4)
    expect(await differenceOf([pack], threads)).toBeLessThan(BOUNDS.quantized)
  })
})

/** The model without three quarters of the format's units, or for 2:4 without two of every four inputs. */
function thinned({ config, weights }: RandomModel, sparse: SparseFormat): RandomModel {
  const random = new Random(3)
  const [rows, inputs] = UNITS[sparse]
  const thin = new Map(
    [...weights].map(([name, { shape, values }]) => {
      const [n = 0, k = 0] = shape
      if (shape.length < 2 || !name.includes('layers')) return [name, { shape, values }]
      const kept = new Map<string, boolean>()
      const own = values.map((value, at) => {
        const row = Math.floor(at / k)
        const input = at % k
        if (sparse === 'sp24') return (row + input) % 4 < 2 ? value : 0
        const unit = `${Math.floor(row / rows)} ${Math.floor(input / inputs)}`
        const isKept = kept.get(unit) ?? random.chance(0.25)
        kept.set(unit, isKept)
        return isKept ? value : 0
      })
      return [name, { shape: [n, k], values: own }]
    }),
  )
  return { config, weights: thin }
}
