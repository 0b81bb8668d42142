// Typed GGUF. In: a random model, a type for each matrix. Out: its GGUF with random blocks of these types.
import { BLOCKS } from '../../../../src/core/formats/dtypes.ts'
import type { CodedDType, DType } from '../../../../src/core/formats/tensors.ts'
import { randomBlocks } from '../../../../src/core/formats/testing/random-blocks.ts'
import { ggufContents, newFile } from '../model-files.ts'
import type { RandomModel } from '../random-llama.ts'
import { ggufBytes } from './gguf-writer.ts'
import { randomTensor } from './random-tensor.ts'

/** Scales that give weights of about 0.02. */
const SCALES: Readonly<Record<CodedDType, number>> = {
  Q5_0: 2e-3,
  Q5_1: 1e-3,
  Q2_K: 1e-3,
  Q3_K: 5e-4,
  Q4_K: 5e-5,
  Q5_K: 3e-5,
  Q6_K: 1.5e-5,
  Q8_1: 1e-4,
  IQ1_S: 3e-3,
  IQ1_M: 3e-3,
  Q1_0: 0.02,
  Q2_0: 0.02,
  NVFP4: 1,
  IQ2_XXS: 3e-4,
  IQ2_XS: 3e-4,
  IQ2_S: 3e-4,
  IQ3_XXS: 1e-4,
  IQ3_S: 2e-4,
  IQ4_NL: 3e-4,
  IQ4_XS: 2e-5,
  TQ1_0: 0.02,
  TQ2_0: 0.02,
  MXFP4: 2 ** -8,
}

/**
 * The model with every matrix of a layer in the type given by `dtypeOf`; the embedding stays F32. With
 * `scaleOf`, each of these matrices comes with a scale, and one for kernels that compute in NVFP4.
 */
export async function typedGguf(
  model: RandomModel,
  dtypeOf: (name: string) => DType,
  scaleOf?: (name: string) => readonly number[],
): Promise<File> {
  const contents = ggufContents(model, 'F32')
  const tensors = contents.tensors.map((tensor, seed) => {
    const [rows, k] = tensor.shape
    if (k === undefined || rows === undefined || !tensor.name.startsWith('blk.')) return tensor
    const dtype = dtypeOf(tensor.name)
    if (!isCoded(dtype)) return { ...tensor, dtype, data: () => randomTensor(dtype, tensor.shape, seed + 1) }
    const bytes = randomBlocks(dtype, (rows * k) / BLOCKS[dtype].elements, seed + 1, SCALES[dtype])
    return { ...tensor, dtype, data: () => [bytes] }
  })
  const scales = tensors.flatMap(({ name, shape }) => {
    if (scaleOf === undefined || shape.length < 2 || !name.startsWith('blk.')) return []
    const values = Float32Array.from(scaleOf(name))
    const data = () => [new Uint8Array(values.buffer)]
    return ['scale', 'input_scale'].map((kind) => ({
      name: name.replace('weight', kind),
      shape: [values.length],
      dtype: 'F32' as const,
      data,
    }))
  })
  return newFile('types.gguf', await ggufBytes({ ...contents, tensors: [...tensors, ...scales] }))
}

const isCoded = (dtype: DType): dtype is CodedDType => Object.hasOwn(SCALES, dtype)
