// Families of the matrix. A random model of every family, with significant biases and norms, in every format.

import { openModel } from '../../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../../src/core/base/bytes.ts'
import { writePack } from '../../../../src/core/formats/hbm/hbm-writer.ts'
import type { ModelFile } from '../../../../src/core/formats/readers.ts'
import type { WeightPolicy } from '../../../../src/core/weights/policy.ts'
import { packContents } from '../../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../../src/engine/load/prepare.ts'
import { ggufFile, newFile, safetensorsFiles } from '../model-files.ts'
import type { Files } from '../node-engine.ts'
import { randomLlama } from '../random-llama.ts'
import {
  type RecurrentFamily,
  randomRecurrent,
  recurrentGguf,
  recurrentSafetensors,
} from '../random-recurrent.ts'
import { concat } from '../writers/gguf-writer.ts'
import { familyCases } from './family-cases.ts'
import { drawFamily, familyGguf, familySafetensors } from './family-files.ts'

export const FORMATS = ['gguf', 'safetensors', 'hbm'] as const
export type Format = (typeof FORMATS)[number]

export interface MatrixFamily {
  readonly name: string
  /** Whether any layer has keys and values. */
  readonly hasKv: boolean
  readonly gguf: () => Promise<Files>
  readonly safetensors: () => Files
}

/** Positions of a sequence. */
export const CONTEXT = 128
/** Enough heads and inner channels for four shards, even with whole groups of 32. */
const SIZES = { hidden: 128, heads: 8, kvHeads: 4, headDim: 16, wide: 160, context: CONTEXT } as const
const SEED = 5

export const MATRIX_FAMILIES: readonly MatrixFamily[] = [
  llama('llama', 'llama', SIZES.kvHeads),
  llama('qwen2', 'qwen2', SIZES.kvHeads),
  llama('qwen2, one KV head', 'qwen2', 1),
  ...familyCases(SIZES).map((one) => {
    const weights = drawFamily(one, SEED)
    return {
      name: one.family,
      hasKv: true,
      gguf: async () => [newFile('family.gguf', await familyGguf(one, weights))],
      safetensors: () => familySafetensors(one, weights),
    }
  }),
  recurrent('mamba', 'mamba', 1),
  recurrent('mamba2', 'mamba2', 1),
  recurrent('mamba2, 4 groups', 'mamba2', 4),
  recurrent('granitehybrid', 'granitehybrid', 1, SIZES.heads),
]

/**
 * A family's files in this format. Packs already contain the converted weights, so they are loaded with
 * `auto`.
 */
export async function filesOf(
  family: MatrixFamily,
  format: Format,
  weights: WeightPolicy,
): Promise<{ readonly files: Files; readonly weights: WeightPolicy }> {
  if (format === 'gguf') return { files: await family.gguf(), weights }
  const files = family.safetensors()
  return format === 'hbm' ? { files: [await packOf(files, weights)], weights: 'auto' } : { files, weights }
}

/** The model as `convert` packs it. */
export async function packOf(
  files: Files,
  weights: WeightPolicy,
  card: Parameters<typeof packContents>[1] = {},
): Promise<File> {
  return packOfModel(await openModel(files.map((each) => blobSource(each.name, each))), weights, card)
}

/** The same, for a model whose headers have already been read. */
export async function packOfModel(
  model: ModelFile,
  weights: WeightPolicy,
  card: Parameters<typeof packContents>[1] = {},
): Promise<File> {
  const prepared = await prepareModel(model, { weights, forPack: true })
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack(await packContents(prepared, card))) chunks.push(chunk)
  return newFile('family.hbm', concat(chunks))
}

function llama(name: string, family: 'llama' | 'qwen2', kvHeads: number): MatrixFamily {
  const { heads, headDim, wide: intermediate } = SIZES
  const model = randomLlama({ family, seed: SEED, heads, kvHeads, headDim, intermediate })
  return {
    name,
    hasKv: true,
    gguf: async () => [await ggufFile(model)],
    safetensors: () => safetensorsFiles(model),
  }
}

function recurrent(name: string, family: RecurrentFamily, groups: number, queries?: number): MatrixFamily {
  const model = randomRecurrent(family, SEED, groups, queries)
  return {
    name,
    hasKv: family === 'granitehybrid',
    gguf: async () => [await recurrentGguf(model)],
    safetensors: () => recurrentSafetensors(model),
  }
}
