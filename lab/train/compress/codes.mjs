// Reads and writes the codes of a pack. In: a .hbm pack with w4 matrices. Out: its codes and scales as
// safetensors; or the pack with its codes, scales and norms replaced by those of such a file.
//
// npx node lab/train/compress/codes.mjs read PACK CODES.safetensors
// npx node lab/train/compress/codes.mjs write PACK CODES.safetensors OUTPUT.hbm
import { createWriteStream, openAsBlob } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { halfTable } from '../../../src/core/base/half.ts'
import { layMatrix, unlayMatrix } from '../../../src/tools/shrink/codes/lay.ts'
import { packContents } from '../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { writePack } from '../../../src/core/formats/hbm/hbm-writer.ts'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { readSafetensors, writeSafetensors } from '../../../src/core/formats/safetensors/safetensors.ts'
import { SCALE_FACTOR, shiftedFloat } from '../../../src/core/weights/quantize-weights.ts'

const { signal } = new AbortController()
const [how, pack, codes, output] = process.argv.slice(2)
if (!pack || !codes || (how === 'write') !== (output !== undefined) || !/^(read|write)$/.test(how)) {
  throw new Error('give read PACK CODES, or write PACK CODES OUTPUT')
}

const sourceOf = async (path) => blobSource(path, await openAsBlob(path))
const open = async (path) => openModel([await sourceOf(path)])
const bytesOf = ({ source, offset, byteLength }) => source.read(offset, byteLength, signal)
const floatsOf = async (tensor) => new Float32Array((await bytesOf(tensor)).slice().buffer)
const save = (path, chunks) => pipeline(chunks, createWriteStream(path))

async function readCodes() {
  const { tensors } = await open(pack)
  const made = []
  for (const tensor of tensors.values()) {
    if (tensor.packed !== 'w4_g32' || ['embed.weight', 'output.weight'].includes(tensor.name)) continue
    const [n, k] = tensor.shape
    const coded = unlayMatrix((await bytesOf(tensor)).slice(), 'w4_g32', n, k)
    const scales = Float32Array.from(coded.scales, (pattern) => halfTable()[pattern] / SCALE_FACTOR)
    const entries = [
      ['codes', k, Float32Array.from(coded.codes)],
      ['scales', Math.ceil(k / 32), scales],
    ]
    for (const [what, width, values] of entries) {
      const bytes = new Uint8Array(values.buffer)
      const name = `${tensor.name}.${what}`
      made.push({ name, dtype: 'F32', shape: [n, width], bytes: bytes.byteLength, data: () => [bytes] })
    }
  }
  await save(codes, writeSafetensors(made, signal))
}

async function writeCodes() {
  const trained = await readSafetensors(await sourceOf(codes), signal)
  const prepared = await prepareModel(await open(pack), { weights: 'auto', forPack: true })
  const contents = await packContents(prepared, {
    about: { ...prepared.file.metadata.get('about'), quantization: 'gptq w4_g32, then trained' },
  })
  const tensors = contents.tensors.map((tensor) => {
    const { name, shape } = tensor
    const [own, scales, gain] = [`${name}.codes`, `${name}.scales`, name].map((key) => trained.get(key))
    if (own !== undefined) {
      const [n, k] = shape
      async function* data() {
        const chosen = await floatsOf(own)
        const fitted = await floatsOf(scales)
        const stored = { codes: Uint8Array.from(chosen), scales: Uint16Array.from(fitted, shiftedFloat) }
        yield layMatrix({ format: 'w4_g32', n, k, ...stored })
      }
      return { ...tensor, data }
    }
    if (gain === undefined) return tensor
    return { ...tensor, data: async function* () { yield await bytesOf(gain) } }
  })
  await save(output, writePack({ ...contents, tensors }, signal))
}

await (how === 'read' ? readCodes() : writeCodes())
