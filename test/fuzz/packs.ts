// Packs. In: a model's files, or a header and data. Out: the pack, with correct hashes for any header.
import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openModel } from '../../src/core/arch/open-model.ts'
import { writePack } from '../../src/core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { concat } from '../conformance/testing/writers/gguf-writer.ts'
import { inputOf, sourcesOf } from './models.ts'
import { type Tree, treeOf } from './mutate/json-tree.ts'

const PREFIX_BYTES = 64

export interface Pack {
  readonly bytes: Uint8Array
  readonly header: Tree
  readonly data: Uint8Array
}

export async function packOf(files: readonly File[]): Promise<Pack> {
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

/** A pack with any header and correct lengths and hash. */
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
