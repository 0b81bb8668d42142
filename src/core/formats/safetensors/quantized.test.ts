// Tests quantised safetensors. In: matrices packed bit by bit as the formats define. Out: the exact values,
// or a typed error.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  awqTensors,
  compressedTensors,
  fp8Value,
  gptqTensors,
  type IntOptions,
  intMatrix,
  intValues,
} from '../../../../test/conformance/testing/writers/quantized-tensors.ts'
import {
  type StoredTensor,
  safetensorsBytes,
} from '../../../../test/conformance/testing/writers/safetensors-writer.ts'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { openModel } from '../../arch/open-model.ts'
import { bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { floatToHalf, halfToFloat } from '../../base/half.ts'
import { dequantize, readVector } from '../dequantize.ts'
import { storedRows } from '../dtypes.ts'
import type { TensorInfo } from '../tensors.ts'

type Tensors = Readonly<Record<string, StoredTensor>>

const N = 40
const K = 256

async function open(tensors: Tensors, quantization?: unknown): Promise<ReadonlyMap<string, TensorInfo>> {
  const config = { model_type: 'llama', quantization_config: quantization }
  const model = await openModel([
    bufferSource('model.safetensors', safetensorsBytes(tensors)),
    bufferSource('config.json', new TextEncoder().encode(JSON.stringify(config))),
  ])
  expect(model.metadata.get('config')).toEqual({ model_type: 'llama' })
  return model.tensors
}

/** Rows [from, to) as f32. */
async function valuesOf(tensor: TensorInfo, from = 0, to = tensor.shape[0]!): Promise<Float32Array> {
  const bytes = tensor.byteLength / tensor.shape[0]!
  const stored = await tensor.source.read(tensor.offset + from * bytes, (to - from) * bytes)
  const out = new Float32Array((to - from) * tensor.shape[1]!)
  dequantize(storedRows(tensor.dtype, stored, tensor.coding), 0, out.length, out, 0)
  return out
}

async function valuesIn(tensors: Tensors, quantization?: unknown, k = K): Promise<[string, Float32Array]> {
  const found = await open(tensors, quantization)
  expect([...found.keys()]).toEqual(['x.weight'])
  const tensor = found.get('x.weight')!
  expect(tensor.shape).toEqual([N, k])
  const values = await valuesOf(tensor)
  expect(await valuesOf(tensor, 8, 29)).toEqual(values.subarray(8 * k, 29 * k))
  return [`${tensor.dtype}${tensor.like === undefined ? '' : ` like ${tensor.like}`}`, values]
}

async function failure(work: Promise<unknown>): Promise<string> {
  try {
    return `no error: ${String(await work).slice(0, 40)}`
  } catch (error) {
    return isHalfbyteError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

const gptq = (bits: number, group_size: number, more = {}) => ({
  quant_method: 'gptq',
  bits,
  group_size,
  desc_act: false,
  sym: true,
  ...more,
})
const awq = { quant_method: 'awq', bits: 4, group_size: 64, version: 'gemm', zero_point: true }
const packed = (num_bits: number, more = {}) => ({
  quant_method: 'compressed-tensors',
  format: 'pack-quantized',
  config_groups: { group_0: { targets: ['Linear'], weights: { num_bits, ...more } } },
})

describe('symmetric codes are converted without loss', () => {
  test.each([
    [4, 32, 'Q4_0'],
    [4, 64, 'Q4_0'],
    [4, 128, 'Q4_0'],
    [4, -1, 'Q4_0'],
    [8, 128, 'Q8_0'],
  ] as const)('GPTQ of %i bits in groups of %i', async (bits, size, dtype) => {
    const matrix = intMatrix(N, K, { bits, groupSize: size < 0 ? K : size })
    expect(await valuesIn(gptqTensors('x', matrix), gptq(bits, size))).toEqual([dtype, intValues(matrix)])
    const second = gptq(bits, size, { checkpoint_format: 'gptq_v2' })
    expect(await valuesIn(gptqTensors('x', matrix, true), second)).toEqual([dtype, intValues(matrix)])
  })

  test.each([
    [4, 32, 'Q4_0'],
    [4, K, 'Q4_0'],
    [8, 64, 'Q8_0'],
  ] as const)('compressed-tensors of %i bits in groups of %i', async (bits, groupSize, dtype) => {
    const matrix = intMatrix(N, K, { bits, groupSize })
    expect(await valuesIn(compressedTensors('x', matrix, false), packed(bits))).toEqual([
      dtype,
      intValues(matrix),
    ])
  })
})

describe('with zero points, codes get minimums rounded to f16', () => {
  const asymmetric = (options: IntOptions) => intMatrix(N, K, { ...options, isSymmetric: false })

  function rounded({ scales, zeros, groups, codes }: ReturnType<typeof intMatrix>): Float32Array {
    return Float32Array.from({ length: N * K }, (_, at) => {
      const g = Math.floor(at / K) * groups + Math.floor((at % K) / (K / groups))
      return Math.fround(scales[g]! * codes[at]!) + halfToFloat(floatToHalf(-scales[g]! * zeros[g]!))
    })
  }

  test.each([
    ['GPTQ', 64, gptqTensors, gptq(4, 64, { sym: false })],
    ['AWQ', 64, awqTensors, awq],
    [
      'compressed-tensors',
      128,
      (name: string, m: ReturnType<typeof intMatrix>) => compressedTensors(name, m, true),
      packed(4),
    ],
  ] as const)('%s', async (_, groupSize, pack, config) => {
    const matrix = asymmetric({ groupSize })
    const [dtype, values] = await valuesIn(pack('x', matrix), config)
    expect(dtype).toBe('Q4_1')
    expect(values).toEqual(rounded(matrix))
    const exact = intValues(matrix)
    for (const [at, value] of values.entries()) {
      const g = Math.floor(at / K) * matrix.groups + Math.floor((at % K) / groupSize)
      expect(Math.abs(value - exact[at]!)).toBeLessThanOrEqual(Math.abs(matrix.scales[g]!) / 128)
    }
  })

  test('8-bit codes with zero points become exact f32 values', async () => {
    const matrix = asymmetric({ bits: 8, groupSize: 64 })
    const found = await valuesIn(gptqTensors('x', matrix), gptq(8, 64, { sym: false }))
    expect(found).toEqual(['F32 like Q8_0', intValues(matrix)])
  })
})

test('inputs sorted by activation order keep their groups', async () => {
  const matrix = intMatrix(N, K, { groupSize: 64, isSymmetric: false, isShuffled: true })
  const config = gptq(4, 64, { sym: false, desc_act: true })
  const even = intMatrix(N, K, { groupSize: 64, isShuffled: true })
  const { sorted } = (await open(gptqTensors('x', even), gptq(4, 64, { desc_act: true }))).get('x.weight')!
  const order = await readVector(sorted!.order)
  const moved = await valuesOf(sorted!.tensor)
  expect(sorted!.tensor.dtype).toBe('Q4_0')
  const right = intValues(even)
  expect(moved).toEqual(moved.map((_, at) => right[at - (at % K) + order[at % K]!]!))
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: K }, (_, i) => i))
  expect(await valuesIn(gptqTensors('x', matrix), config)).toEqual(['F32 like Q8_0', intValues(matrix)])
  expect(await failure(valuesIn(gptqTensors('x', matrix), gptq(4, 64, { sym: false })))).toMatch(
    /^format: .*4 groups of 64 but its input \d+ is in group \d/,
  )
})

describe('bytes with scales', () => {
  const next = randomFrom(5)
  const bytes = Uint8Array.from(
    { length: N * K },
    () => [0, 128][Math.floor(next() * 2)]! + Math.floor(next() * 120),
  )
  const scalesOf = (shape: readonly number[]): readonly [Float32Array, StoredTensor] => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => next() + 0.1)
    return [values, { dtype: 'F32', shape, data: new Uint8Array(values.buffer) }]
  }
  const blocks = { quant_method: 'fp8', weight_block_size: [16, 128] }

  test.each([
    ['F8_E4M3', [], {}],
    ['F8_E5M2', [1], {}],
    ['F8_E4M3', [N, 1], {}],
    ['F8_E5M2', [N], {}],
    ['F8_E4M3', [3, 2], blocks],
    ['I8', [N, 1], { quant_method: 'compressed-tensors', format: 'int-quantized' }],
  ] as const)('%s with scales of [%s]', async (dtype, shape, config) => {
    const [scales, stored] = scalesOf(shape)
    const tensors = {
      'x.weight': { dtype, shape: [N, K], data: bytes },
      [shape.length === 2 && shape[0] === 3 ? 'x.weight_scale_inv' : 'x.weight_scale']: stored,
      'x.input_scale': scalesOf([])[1],
    }
    const [form, values] = await valuesIn(tensors, config)
    expect(form).toBe('F32 like Q8_0')
    const right = Float32Array.from(bytes, (byte, at) => {
      const row = Math.floor(at / K)
      const column = at % K
      const blockRows = shape[0] === N ? row : shape.length === 2 ? Math.floor(row / 16) * 2 : 0
      const scale = scales[blockRows + (shape[0] === 3 ? Math.floor(column / 128) : 0)]!
      return scale * (dtype === 'I8' ? (byte > 127 ? byte - 256 : byte) : fp8Value(dtype, byte))
    })
    expect(values).toEqual(right)
  })

  test('scales with a different shape are rejected', async () => {
    const tensors = {
      'x.weight': { dtype: 'F8_E4M3', shape: [N, K], data: bytes },
      'x.weight_scale': scalesOf([7, 2])[1],
    } as const
    expect(await failure(open(tensors))).toMatch(/^format: .*\[40,256\] are \[7,2\]/)
  })
})

describe('MXFP4', () => {
  const u8 = (shape: readonly number[], at: (index: number) => number): StoredTensor => ({
    dtype: 'U8',
    shape,
    data: Uint8Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => at(index)),
  })
  const blocks = u8([2, 3, 2, 16], (index) => (index * 37 + 11) & 255)

  test('codes and exponents become rows with the same values', async () => {
    const scales = u8([2, 3, 2], (index) => 104 + 3 * index)
    const tensor = (await open({ x_blocks: blocks, x_scales: scales })).get('x')!
    expect([tensor.dtype, tensor.shape]).toEqual(['Q8_0', [2, 3, 64]])
    const levels = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    const right = Float32Array.from({ length: 2 * 3 * 64 }, (_, index) => {
      const code = (blocks.data[index >> 1]! >> (4 * (index & 1))) & 15
      const size = levels[code & 7]! * 2 ** (scales.data[index >> 5]! - 127)
      return code > 8 ? -size : size
    })
    expect(await readVector({ ...tensor, shape: [right.length] })).toEqual(right)
  })

  test.each<[string, Tensors]>([
    ['no exponents', { x_blocks: blocks }],
    ['exponents with a different shape', { x_blocks: blocks, x_scales: u8([2, 3], () => 127) }],
    ['half a block', { x_blocks: u8([2, 3, 2, 8], () => 0), x_scales: u8([2, 3, 2], () => 127) }],
    ['exponents as floats', { x_blocks: blocks, x_scales: { ...blocks, dtype: 'I8' } }],
  ])('%s are damaged', async (_, tensors) => {
    expect(await failure(open(tensors))).toMatch(/^format: /)
  })
})

describe('are rejected if they do not match', () => {
  const matrix = intMatrix(N, K, { groupSize: 64 })
  const good = gptqTensors('x', matrix)
  const reading = async (tensors: Tensors, config: unknown) =>
    valuesOf((await open(tensors, config)).get('x.weight')!)
  const word = (shape: readonly number[]) => {
    const data = new Uint8Array(shape.reduce((a, b) => a * b, 4))
    return { dtype: 'I32', shape, data } as const
  }

  test.each([
    ['3 bits', good, gptq(3, 64), /^unsupported: .*3 bits/],
    ['groups of 48', good, gptq(4, 48), /^unsupported: .*groups of 48/],
    ['other groups', good, gptq(4, 128), /^format: .*\[4,40\] where .* needs .* \[2,40\]/],
    ['no configuration', good, undefined, /^unsupported: .*undefined/],
    ['an unsupported tool', good, { quant_method: 'hqq' }, /^unsupported: .*hqq/],
    ['a GPU kernel’s layout', good, gptq(4, 64, { checkpoint_format: 'marlin' }), /^unsupported: .*marlin/],
    ['AWQ for gemv', good, { ...awq, version: 'gemv' }, /^unsupported: .*gemv/],
    ['GPTQ declared as AWQ', good, awq, /^format: /],
    ['no scales', { ...good, 'x.scales': undefined }, gptq(4, 64), /^format: .*x\.scales/],
    ['short zero points', { ...good, 'x.qzeros': word([4, 4]) }, gptq(4, 64), /^format: .*\[4,4\].*\[4,5\]/],
    ['short groups', { ...good, 'x.g_idx': word([255]) }, gptq(4, 64), /^format: .*\[255\].*\[256\]/],
    [
      'a zero point that is not in the middle',
      { ...good, 'x.qzeros': word([4, 5]) },
      gptq(4, 64),
      /^format: .*zero point 1 .* 8/,
    ],
    ['integers alone', { w: word([2, 2]) }, undefined, /^unsupported: .*I32/],
  ])('%s', async (_, tensors, config, message) => {
    const present = Object.entries(tensors).filter(
      (entry): entry is [string, StoredTensor] => entry[1] !== undefined,
    )
    expect(await failure(reading(Object.fromEntries(present), config))).toMatch(message)
  })

  test('an input in a missing group is rejected', async () => {
    const groupOf = [...matrix.groupOf]
    groupOf[200] = 4
    const tensors = gptqTensors('x', { ...matrix, groupOf })
    for (const desc_act of [false, true]) {
      expect(await failure(reading(tensors, gptq(4, 64, { desc_act })))).toMatch(
        /^format: .*4 groups of 64 but its input 200 is in group 4/,
      )
    }
  })

  test('any configuration and any shapes are read or rejected with a typed error', async () => {
    const size = fc.constantFrom(0, 1, 2, 4, 5, 8, 32, 40, 256)
    const shape = fc.array(size, { minLength: 0, maxLength: 3 })
    const config = fc.record({
      quant_method: fc.constantFrom('gptq', 'awq', 'compressed-tensors', 'fp8', 7, null),
      bits: fc.constantFrom(0, -4, 2, 3, 4, 8, 1e9, '4', undefined),
      group_size: fc.constantFrom(-1, 0, 32, 48, 64, 1e12, Number.NaN, undefined),
      desc_act: fc.boolean(),
      sym: fc.boolean(),
      format: fc.constantFrom('pack-quantized', undefined, 3),
      weight_block_size: fc.constantFrom([0, 0], [-1, 128], [128], ['a'], undefined),
      config_groups: fc.constantFrom({ a: { weights: { num_bits: 4 } } }, { a: 1 }, [], undefined),
    })
    const names = [
      'qweight',
      'qzeros',
      'scales',
      'g_idx',
      'weight_packed',
      'weight_scale',
      'weight_zero_point',
      'weight',
      'weight_blocks',
      'weight_scales',
    ]
    const tensor = fc.record({
      shape,
      dtype: fc.constantFrom('I32', 'F16', 'F32', 'F8_E4M3', 'I8', 'U8'),
    })
    await fc.assert(
      fc.asyncProperty(
        config,
        fc.dictionary(fc.constantFrom(...names), tensor),
        async (settings, entries) => {
          const tensors = Object.fromEntries(
            Object.entries(entries).map(([name, { shape, dtype }]) => {
              const bytes = shape.reduce(
                (a, b) => a * b,
                { I32: 4, F16: 2, F32: 4, F8_E4M3: 1, I8: 1, U8: 1 }[dtype] ?? 1,
              )
              return [`x.${name}`, { dtype, shape, data: new Uint8Array(bytes) } as StoredTensor]
            }),
          )
          const work = async () => {
            const tensor = (await open(tensors, settings)).get('x.weight')
            if (tensor?.shape.length === 2 && tensor.shape[0]! > 0) await valuesOf(tensor)
          }
          expect(await failure(work())).toMatch(/^(no error|format:|unsupported:)/)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('BitNet', () => {
  /** A matrix of N rows of -1, 0 and 1, and the bytes of its four quarters. */
  const ternary = (k: number) => {
    const random = randomFrom(5)
    const codes = Array.from({ length: N * k }, () => Math.floor(random() * 3) - 1)
    const packed = new Uint8Array((N / 4) * k)
    for (const [at, code] of codes.entries()) {
      const row = Math.floor(at / k)
      packed[(row % (N / 4)) * k + (at % k)]! |= (code + 1) << (2 * Math.floor(row / (N / 4)))
    }
    return { codes, packed }
  }
  const tensors = (
    shape: readonly number[] = [N / 4, K],
    scales: readonly number[] = [1],
    k = K,
  ): Tensors => ({
    'x.weight': { dtype: 'U8', shape, data: ternary(k).packed },
    'x.weight_scale': {
      dtype: 'F32',
      shape: scales,
      data: new Uint8Array(new Float32Array(scales.reduce((n, size) => n * size, 1)).fill(0.75).buffer),
    },
  })

  test.each([
    ['autobitlinear', 0.75, K, 'TQ2_0'],
    ['bitlinear', halfToFloat(floatToHalf(1 / 0.75)), K, 'TQ2_0'],
    ['autobitlinear', 0.75, 96, 'Q4_0'],
  ])('packed for %s, with the factor %f, in rows of %i', async (linear_class, factor, k, stored) => {
    const given = tensors([N / 4, k], [1], k)
    const [form, values] = await valuesIn(given, { quant_method: 'bitnet', linear_class }, k)
    expect(form).toBe(stored)
    // Zeros have no sign.
    expect(Array.from(values, (value) => value + 0)).toEqual(
      ternary(k).codes.map((code) => code * factor + 0),
    )
  })

  test.each([
    ['another tool', tensors(), { quant_method: 'bitsandbytes' }, 'unsupported'],
    ['a scale for each row', tensors([N / 4, K], [N]), { quant_method: 'bitnet' }, 'format'],
    ['a vector', tensors([(N / 4) * K]), { quant_method: 'bitnet' }, 'format'],
    ['narrow rows', tensors([N * 4, K / 16]), { quant_method: 'bitnet' }, 'unsupported'],
    ['float weights', tensors(), { quant_method: 'bitnet', quantization_mode: 'online' }, 'unsupported'],
    ['no scale', { 'x.weight': tensors()['x.weight']! }, { quant_method: 'bitnet' }, 'format'],
  ])('%s is a typed error', async (_, given, quantization, code) => {
    await expect(open(given, quantization)).rejects.toMatchObject({ code })
  })
})
