// Chooses a soak model's adapters at random: none, one or several merged while it loads, or one already
// merged into a pack.

import { ALL_READERS, openModel } from '../../src/core/arch/open-model.ts'
import { blobSource } from '../../src/core/base/bytes.ts'
import { writePack } from '../../src/core/formats/hbm/hbm-writer.ts'
import type { LoadOptions } from '../../src/engine/api/types.ts'
import { openAdapters } from '../../src/engine/load/open/open-any.ts'
import { packContents } from '../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import type { Random } from '../helpers/random.ts'
import type { SoakModel } from './models.ts'

interface Adapter {
  readonly source: File[]
  readonly scale: number
}

export interface Adapted {
  readonly files: readonly File[]
  readonly lora?: NonNullable<LoadOptions['lora']>
  /** The name of the action in the report's counters. */
  readonly how?: string
}

export async function adapted({ files, adapters }: SoakModel, random: Random): Promise<Adapted> {
  if (adapters.length === 0 || random.chance(0.3)) return { files }
  const lora = Array.from({ length: random.between(1, 3) }, () => ({
    source: [...random.pick(adapters)],
    scale: random.pick([1, 0.5, -0.25]),
  }))
  if (random.chance(0.3)) return { files: [await mergedPack(files, lora)], how: 'adapters in a pack' }
  return { files, lora, how: lora.length > 1 ? 'several adapters' : 'an adapter' }
}

async function mergedPack(files: readonly File[], lora: readonly Adapter[]): Promise<File> {
  const sourcesOf = (of: readonly File[]) => of.map((each) => blobSource(each.name, each))
  const open = async (source: unknown) => ({ sources: sourcesOf(source as File[]) })
  const adapters = await openAdapters(lora, open, ALL_READERS)
  const prepared = await prepareModel(await openModel(sourcesOf(files)), { weights: 'auto', adapters })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(new Uint8Array(chunk))
  return new File(chunks, 'merged.hbm')
}
