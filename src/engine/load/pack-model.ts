// Packs a prepared model as the contents of a .hbm file.

import type { SparseBase } from '../../core/abi/encodings.ts'
import { type Encoding, isSparse, sparseParts } from '../../core/abi/encodings.ts'
import { storedConfig } from '../../core/arch/config/config-hbm.ts'
import { roleOf, weightOf } from '../../core/arch/tensors/names.ts'
import type { PackContents, PackTensor } from '../../core/formats/hbm/hbm-writer.ts'
import type { MetaObject } from '../../core/formats/json-files.ts'
import type { WeightSlot } from '../../core/graph/plan/plan.ts'
import type { SparsePolicy } from '../../core/weights/sparse/choose-sparse.ts'
import { packMatrix, packSparse, packVector, surveySparse } from '../../core/weights/sparse/pack.ts'
import type { PreparedModel } from './prepare.ts'

export interface PackCard {
  /** Default: the model's own name. */
  readonly name?: string | undefined
  /** Licence, source, attribution. */
  readonly about?: MetaObject | undefined
  /** Whether matrices with zeros are stored sparsely, for all or per matrix. Default `none`. */
  readonly sparse?: SparsePolicy | ((matrix: string) => SparsePolicy) | undefined
  /** Called for every matrix that was searched for zeros, with its encoding and the reason. */
  readonly onChoice?: ((matrix: string, encoding: string, why: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Every weight that the plan needs, in the plan's encodings. Throws errors of reading the tensors. */
export async function packContents(prepared: PreparedModel, card: PackCard = {}): Promise<PackContents> {
  const { file, config, plan } = prepared
  const tensors: PackTensor[] = []
  for (const slot of plan.slots) {
    tensors.push(...(await packSlot(prepared, slot, card)))
  }
  const name = card.name ?? file.name
  return {
    name,
    config: storedConfig({ ...config, name }) as MetaObject,
    tokenizer: file.tokenizer,
    generation: file.generationConfig,
    about: card.about,
    tensors,
  }
}

/** All parts of a slot. The parts of a matrix share one encoding, so that they stay one matrix. */
async function packSlot(
  { weights }: PreparedModel,
  { ref, encoding }: WeightSlot,
  { sparse = 'none', onChoice, signal }: PackCard,
): Promise<PackTensor[]> {
  const parts = ref.parts.map(({ name }) => ({ name, tensor: weightOf(weights, name) }))
  if (ref.kind === 'vector') return parts.map(({ name, tensor }) => packVector(name, tensor, signal))
  const dense: Encoding = isSparse(encoding) ? sparseParts(encoding).base : encoding
  const policy = typeof sparse === 'function' ? sparse(parts[0]?.name ?? '') : sparse
  const isTable = ref.parts.some(({ name }) => roleOf(name) !== 'matrix')
  if (policy === 'none' || isTable || !isSparseBase(dense)) {
    return parts.map(({ name, tensor }) => packMatrix(name, tensor, dense, signal))
  }
  const survey = await surveySparse(
    parts.map(({ tensor }) => tensor),
    dense,
    policy,
    signal,
  )
  const { encoding: chosen, why } = survey.choice
  onChoice?.(parts.map(({ name }) => name).join(' + '), chosen, why)
  return parts.map(({ name, tensor }, index) =>
    isSparse(chosen)
      ? packSparse(name, tensor, chosen, survey.sizes[index] ?? [], signal)
      : packMatrix(name, tensor, dense, signal),
  )
}

const isSparseBase = (encoding: Encoding): encoding is SparseBase =>
  encoding === 'w4_g32' || encoding === 'w8_g32'
