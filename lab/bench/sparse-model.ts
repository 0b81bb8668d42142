// node lab/bench/sparse-model.ts FORMAT KEPT writes the bench's model with the zeros of a sparse format, as a
// GGUF and a pack; KEPT is the share of kept weights.
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { GgufTensor } from '../../test/conformance/testing/writers/gguf-writer.ts'
import { BENCH_FOLDER, writeModel } from './model-file.ts'
import { randomModel } from './random-model.ts'
import { QWEN_05B } from './shapes.ts'

/** Outputs and inputs of a unit that is kept or dropped. */
const UNITS = { sb84: [8, 4], sv32: [32, 1] } as const
const BLOCK_BYTES = 18

/** Hashes three numbers to a number from 0 to 1. */
function drawn(a: number, b: number, c: number): number {
  let x = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35)
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d)
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39)
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32
}

/** Bit i: input i of this group of this row is kept. */
function maskOf(
  format: keyof typeof UNITS,
  kept: number,
  tensor: number,
  row: number,
  group: number,
): number {
  const [rows, inputs] = UNITS[format]
  let mask = 0
  for (let i = 0; i < 32; i += inputs) {
    if (drawn(tensor, Math.floor(row / rows), group * 32 + i) < kept) mask |= (2 ** inputs - 1) << i
  }
  return mask
}

/** Byte i of a Q4_0 block holds inputs i and i + 16; code 8 is zero. */
async function* pruned(
  source: GgufTensor,
  dropped: (row: number, group: number) => number,
): AsyncGenerator<Uint8Array> {
  const groups = source.shape[1]! / 32
  let block = 0
  for await (const bytes of source.data()) {
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES, block++) {
      const zeros = dropped(Math.floor(block / groups), block % groups)
      for (let i = 0; i < 16; i++) {
        const byte = at + 2 + i
        if ((zeros >>> i) & 1) bytes[byte] = (bytes[byte]! & 0xf0) | 8
        if ((zeros >>> (i + 16)) & 1) bytes[byte] = (bytes[byte]! & 15) | 0x80
      }
    }
    yield bytes
  }
}

const [format, share] = process.argv.slice(2)
if ((format !== 'sb84' && format !== 'sv32') || !(Number(share) > 0))
  throw new Error('give sb84 or sv32 and the share of kept weights, e.g. sb84 0.5')
const name = `${QWEN_05B.name}-${format}-${share}`
const [model, pack] = ['gguf', 'hbm'].map((kind) =>
  fileURLToPath(new URL(`${name}.${kind}`, BENCH_FOLDER)),
) as [string, string]
await mkdir(BENCH_FOLDER, { recursive: true })
const contents = randomModel(QWEN_05B)
// The embedding stays dense, because its rows are looked up.
const tensors = contents.tensors.map((tensor, index) =>
  tensor.dtype === 'Q4_0' && tensor.name.startsWith('blk.')
    ? {
        ...tensor,
        data: () => pruned(tensor, (row, group) => ~maskOf(format, Number(share), index, row, group)),
      }
    : tensor,
)
await writeModel(model, { ...contents, tensors })
const command = fileURLToPath(new URL('../../src/tools/cli/main.ts', import.meta.url))
const { stdout } = await promisify(execFile)(process.execPath, [command, 'convert', model, pack], {
  maxBuffer: 2 ** 24,
})
console.log(stdout)
