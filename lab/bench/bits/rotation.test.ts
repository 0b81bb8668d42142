// Rotations. In: random vectors, and random Llamas whose norms have gains. Out: whether angles and logits are
// unchanged.
import { describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource, bufferSource, joinBytes } from '../../../src/core/base/bytes.ts'
import { buildModel } from '../../../src/engine/load/build-model.ts'
import { type PreparedModel, prepareModel } from '../../../src/engine/load/prepare.ts'
import { forwardRows } from '../../../src/tools/cli/models/model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { modelFolder } from '../../../src/tools/shrink/folder/model-folder.ts'
import { safetensorsFiles } from '../../../test/conformance/testing/model-files.ts'
import { type RandomOptions, randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { randomFrom, signedFrom } from '../../../test/helpers/random.ts'
import { rotateModel } from './rotate-model.ts'
import { Rotation } from './rotation.ts'

const { signal } = new AbortController()

describe('a rotation', () => {
  test.each([1, 8, 9, 72, 576])('of %i values keeps angles and spreads one value over all', (width) => {
    const rotation = new Rotation(width, randomFrom(width))
    const chance = signedFrom(2)
    // Two interleaved vectors, one of which is a single peak.
    const values = Float32Array.from({ length: 2 * width }, (_, at) =>
      at % 2 === 0 ? chance() : Number(at === 1),
    )
    const product = (own: Float32Array, a: number, b: number) => {
      let sum = 0
      for (let i = 0; i < width; i++) sum += own[2 * i + a]! * own[2 * i + b]!
      return sum
    }
    const before = values.slice()
    for (const first of [0, 1]) rotation.apply(values, first, 2)
    for (const [a, b] of [
      [0, 0],
      [0, 1],
      [1, 1],
    ] as const)
      expect(product(values, a, b)).toBeCloseTo(product(before, a, b), 4)
    const peak = values.reduce(
      (most, value, at) => (at % 2 === 1 ? Math.max(most, Math.abs(value)) : most),
      0,
    )
    if (width > 9) expect(peak).toBeLessThan(0.5)
  })
})

async function random(options: Partial<RandomOptions>): Promise<PreparedModel> {
  const model = randomLlama({ seed: 3, heads: 6, kvHeads: 2, headDim: 12, gain: 1.5, ...options })
  for (const [name, { values }] of model.weights)
    if (name.includes('norm')) for (const i of values.keys()) values[i] = 0.2 + ((7 * i) % 11) / 3
  const sources = safetensorsFiles(model).map((file) => blobSource(file.name, file))
  return prepareModel(await openModel(sources), { weights: 'f32', forPack: true })
}

async function logitsOf(prepared: PreparedModel): Promise<Float32Array[]> {
  const options = { host: nodeHost(), threads: 1, build: 'auto' } as const
  const built = await buildModel(prepared, options, { signal, onProgress: () => undefined })
  const rows: Float32Array[] = []
  try {
    await forwardRows(built)(
      [5, 40, 7, 90, 3, 21],
      (_, logits) => {
        rows.push(logits.slice())
      },
      signal,
    )
  } finally {
    await built.dispose()
  }
  return rows
}

describe('a rotated model', () => {
  test.each([true, false])('computes the same logits, tied: %s', async (tied) => {
    const prepared = await random({ tied })
    const rotated = await rotateModel(prepared, 1, signal)
    const { json, chunks } = await modelFolder({ ...prepared, ...rotated }, { dtype: 'F32', signal })
    const parts: Uint8Array[] = []
    for await (const chunk of chunks) parts.push(chunk.slice())
    const texts = [...json].map(([name, value]) =>
      bufferSource(name, new TextEncoder().encode(JSON.stringify(value))),
    )
    const file = await openModel([...texts, bufferSource('model.safetensors', joinBytes(parts))])
    const after = await logitsOf(await prepareModel(file, { weights: 'f32' }))
    const before = await logitsOf(prepared)
    expect(before).toHaveLength(6)
    for (const [row, logits] of before.entries())
      for (const [at, logit] of logits.entries())
        expect(Math.abs(after[row]![at]! - logit)).toBeLessThan(1e-4)
  })

  test('needs a Llama without biases', async () => {
    const prepared = await random({ family: 'qwen2' })
    await expect(rotateModel(prepared, 1, signal)).rejects.toThrow(/only Llamas .* qwen2 with .*\.bias/)
  })
})
