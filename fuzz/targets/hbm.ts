// Target: .hbm packs. In: packs with right hashes and a header that says something else, and packs with bytes changed. Out: how far they are read.
import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { concat } from '../../conformance/support/gguf-writer.ts'
import { ggufFile, safetensorsFiles } from '../../conformance/support/model-files.ts'
import { randomRecurrent, recurrentSafetensors } from '../../conformance/support/random-recurrent.ts'
import { modelText, modelTokenizer } from '../../src/engine/model-text.ts'
import { packContents } from '../../src/engine/pack-model.ts'
import { prepareModel } from '../../src/engine/prepare.ts'
import { writePack } from '../../src/formats/hbm-writer.ts'
import { openModel } from '../../src/formats/model-file.ts'
import { type Input, textOf } from '../input.ts'
import { type Tree, textOfTree, treeOf } from '../json-tree.ts'
import { inputOf, sourcesOf, speak, tinyLlama } from '../models.ts'
import { mutateBytes } from '../mutate-bytes.ts'
import { mutateJson } from '../mutate-json.ts'
import type { Target } from '../target.ts'

const LOADED = 1 / 150
const PREFIX_BYTES = 64

interface Pack {
  readonly bytes: Uint8Array
  readonly header: Tree
  readonly data: Uint8Array
}

export async function openTarget(): Promise<Target> {
  const packs: Pack[] = []
  for (const files of [
    [await ggufFile(tinyLlama())],
    safetensorsFiles(tinyLlama('qwen2')),
    recurrentSafetensors(randomRecurrent('mamba2', 1)),
  ]) {
    packs.push(await packOf(files))
  }
  const headers = packs.map(({ header }) => header)
  return {
    draw(random) {
      const { bytes, header, data } = random.pick(random.chance(0.7) ? packs.slice(0, 1) : packs)
      const depth = random.chance(LOADED) ? 'load' : 'plan'
      const isForged = random.chance(0.85)
      const changed = isForged
        ? forgedPack(textOfTree(mutateJson(random, header, headers)), data)
        : mutateBytes(
            random,
            bytes,
            [4, 8, 12, 16, 20].map((at) => ({ at, bytes: 4 })),
            bytes.length - data.length,
          )
      return { 'model.hbm': changed, depth }
    },
    run,
  }
}

async function run(input: Input): Promise<string> {
  const file = await openModel(sourcesOf(input))
  const prepared = await prepareModel(file, { weights: 'auto' })
  modelText(modelTokenizer(file, prepared.plan.logits.width))
  if (textOf(input, 'depth') !== 'load') return 'planned'
  await speak(input)
  return 'ran'
}

async function packOf(files: readonly File[]): Promise<Pack> {
  const prepared = await prepareModel(await openModel(sourcesOf(await inputOf(files))), {
    weights: 'w4',
    forPack: true,
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(chunk)
  const bytes = concat(chunks)
  const end = PREFIX_BYTES + new DataView(bytes.buffer).getUint32(8, true)
  const header = treeOf(JSON.parse(gunzipSync(bytes.subarray(PREFIX_BYTES, end)).toString()))
  return { bytes, header, data: bytes.subarray(Math.ceil(end / 64) * 64) }
}

/** A pack of any header, whose lengths and hash are right. */
export function forgedPack(header: string, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(header)
  const packed = gzipSync(json, { level: 1 })
  const dataStart = Math.ceil((PREFIX_BYTES + packed.length) / 64) * 64
  const bytes = new Uint8Array(dataStart + data.length)
  const view = new DataView(bytes.buffer)
  bytes.set(new TextEncoder().encode('HBM1'))
  view.setUint32(4, 1, true)
  view.setUint32(8, packed.length, true)
  view.setUint32(12, json.length, true)
  view.setBigUint64(16, BigInt(bytes.length), true)
  bytes.set(packed, PREFIX_BYTES)
  bytes.set(data, dataStart)
  bytes.set(createHash('sha256').update(bytes.subarray(0, 32)).update(packed).digest(), 32)
  return bytes
}
