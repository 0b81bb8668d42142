// Packing a model. In: a prepared model. Out: the contents of its .hbm pack.
import type { PackContents, PackTensor } from '../formats/hbm-writer.ts'
import type { MetaObject } from '../formats/json.ts'
import { packMatrix, packVector } from '../weights/pack-tensor.ts'
import { type PreparedModel, weightOf } from './prepare.ts'

export interface PackCard {
  /** Default: the model's own name. */
  readonly name?: string | undefined
  /** Licence, source, attribution. */
  readonly about?: MetaObject | undefined
}

/** Every weight the plan needs, in the plan's encodings. Throws what reading the tensors throws. */
export async function packContents(prepared: PreparedModel, card: PackCard = {}): Promise<PackContents> {
  const { file, config, plan, weights } = prepared
  const tensors: PackTensor[] = []
  for (const slot of plan.slots) {
    for (const { name } of slot.ref.parts) {
      const tensor = weightOf(weights, name)
      const isVector = slot.ref.kind === 'vector'
      tensors.push(await (isVector ? packVector(name, tensor) : packMatrix(name, tensor, slot.encoding)))
    }
  }
  const name = card.name ?? file.name
  return {
    name,
    config: { ...config, name } as unknown as MetaObject,
    tokenizer: file.tokenizer,
    generation: file.generationConfig,
    about: card.about,
    tensors,
  }
}
