// A pack in parts: a random model as three files of several chunks each, split in the middle of its weights.

import { openModel } from '../src/core/arch/open-model.ts'
import { blobSource } from '../src/core/base/bytes.ts'
import { writePack } from '../src/core/formats/hbm/hbm-writer.ts'
import { packContents } from '../src/engine/load/pack-model.ts'
import { prepareModel } from '../src/engine/load/prepare.ts'
import { ggufFile } from '../test/conformance/testing/model-files.ts'
import { randomLlama } from '../test/conformance/testing/random-llama.ts'

const PART_BYTES = (9 << 20) / 2

/** By name: `whole.hbm`, and `split-00001-of-00003.hbm` and so on. */
export async function splitPack(): Promise<Record<string, Uint8Array>> {
  const model = randomLlama({ seed: 7, gain: 1.5, speaks: true, headDim: 64, layers: 4, intermediate: 768 })
  const file = await ggufFile(model)
  const prepared = await prepareModel(await openModel([blobSource(file.name, file)]), { weights: 'auto' })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(new Uint8Array(chunk))
  const whole = await new Blob(chunks).bytes()
  const count = Math.ceil(whole.byteLength / PART_BYTES)
  const parts = Array.from({ length: count }, (_, index) => [
    `split-0000${index + 1}-of-0000${count}.hbm`,
    whole.slice(index * PART_BYTES, (index + 1) * PART_BYTES),
  ])
  return { 'whole.hbm': whole, ...Object.fromEntries(parts) }
}
