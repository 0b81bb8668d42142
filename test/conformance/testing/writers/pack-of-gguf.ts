// Packs a GGUF. In: its bytes. Out: the bytes that `halfbyte convert` writes.
import { bufferSource, joinBytes } from '../../../../src/core/base/bytes.ts'
import { writePack } from '../../../../src/core/formats/hbm/hbm-writer.ts'
import { openFiles } from '../../../../src/core/formats/open-files.ts'
import { packContents } from '../../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../../src/tools/cli/node-host.ts'

export async function packOfGguf(gguf: Uint8Array): Promise<Uint8Array> {
  const file = await openFiles([bufferSource('m.gguf', gguf)], nodeHost())
  const prepared = await prepareModel(file, { weights: 'auto', forPack: true })
  const parts: Uint8Array[] = []
  for await (const chunk of writePack(await packContents(prepared))) parts.push(chunk.slice())
  return joinBytes(parts)
}
