// Group-query attention as in exports for transformers.js. In: a layer that computes lengths from the mask
// and has its state as input and output, at first and later steps. Out: whether a network matches
// onnxruntime-web, in both builds.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { Network, type NetworkTensor } from '../../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../../helpers/random.ts'
import { type Form, HEADS, layer, SHARED, SIZE } from './group-layer.ts'

const random = new Random(12)

interface Step {
  readonly rows: number
  readonly past: number
  /** Number of tokens of each text after the step. */
  readonly lengths: readonly number[]
}

const STEPS: readonly Step[] = [
  { rows: 5, past: 0, lengths: [5] },
  { rows: 7, past: 0, lengths: [7, 7] },
  { rows: 1, past: 6, lengths: [7] },
  { rows: 1, past: 6, lengths: [7, 3, 5] },
  { rows: 3, past: 6, lengths: [9] },
]

function inputsOf({ rows, past, lengths }: Step, isPacked: boolean): Record<string, NetworkTensor> {
  const batch = lengths.length
  const floats = (...dims: number[]) =>
    tensorOf(
      'f32',
      dims,
      Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => random.signed()),
    )
  const total = past + rows
  const mask = lengths.flatMap((length) => Array.from({ length: total }, (_, at) => Number(at < length)))
  const texts: Record<string, NetworkTensor> = isPacked
    ? { qkv: floats(batch, rows, (HEADS + 2 * SHARED) * SIZE) }
    : {
        q: floats(batch, rows, HEADS * SIZE),
        k: floats(batch, rows, SHARED * SIZE),
        v: floats(batch, rows, SHARED * SIZE),
      }
  return {
    ...texts,
    'past.key': floats(batch, SHARED, past, SIZE),
    'past.value': floats(batch, SHARED, past, SIZE),
    mask: tensorOf('i64', [batch, total], mask),
  }
}

test.each([
  ['separate', {}],
  ['packed', { isPacked: true }],
  ['neighbours as pairs', { attributes: { rotary_interleaved: 1 } }],
  ['a window', { attributes: { local_window_size: 3 } }],
  ['a cap and a scale', { attributes: { softcap: { float: 1.5 }, scale: { float: 0.7 } } }],
] satisfies [string, Form][])('%s', { timeout: 30_000 }, async (_, form: Form) => {
  const bytes = layer(form)
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  for (const build of ['relaxed', 'simd128'] as const) {
    const network = await Network.load(new File([new Uint8Array(bytes)], 'layer.onnx'), { build })
    for (const step of STEPS) {
      const inputs = inputsOf(step, form.isPacked === true)
      const wanted = await session.run(toOrtFeeds(Tensor, Object.entries(inputs)))
      const found = await network.run(inputs)
      for (const [name, { dims, data }] of Object.entries(wanted)) {
        expect(found[name]!.dims).toEqual(dims)
        compare(found[name]!.data as Float32Array, data as Float32Array, step, name)
      }
    }
    await network.dispose()
  }
})

/** State after a text's own rows is undefined. */
function compare(
  found: Float32Array,
  wanted: Float32Array,
  { lengths, rows, past }: Step,
  name: string,
): void {
  const each = found.length / lengths.length
  const isState = name.startsWith('present')
  for (let at = 0; at < found.length; at++) {
    const row = Math.floor(at / SIZE) % (rows + past)
    if (isState && row >= lengths[Math.floor(at / each)]!) continue
    if (Math.abs(found[at]! - wanted[at]!) > 2e-6) expect(found[at], `${name} ${at}`).toBe(wanted[at])
  }
}

test('a mask with fewer ones than the step has rows is rejected', async () => {
  const network = await Network.load(new File([new Uint8Array(layer({}))], 'layer.onnx'))
  const inputs = inputsOf({ rows: 3, past: 2, lengths: [1, 5] }, false)
  await expect(network.run(inputs)).rejects.toThrow(expect.objectContaining({ code: 'format' }))
  await network.dispose()
})
