// Tests the types of a GGUF. In: files with a matrix of each type, complete, truncated and forged. Out: the
// matrix's bytes, or a typed error.
import { expect, test } from 'vitest'
import { ggufBytes } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { bufferSource } from '../../base/bytes.ts'
import { BLOCKS, DTYPES } from '../dtypes.ts'
import { CODED_DTYPES, randomBlocks } from '../testing/random-blocks.ts'
import { GGML_DTYPES, readGguf } from './gguf.ts'

const open = (bytes: Uint8Array) => readGguf(bufferSource('types.gguf', bytes))

test('every type has its ggml number', () => {
  expect(new Set(GGML_DTYPES.values())).toEqual(new Set(DTYPES))
  expect([...GGML_DTYPES.keys()].every((number) => number >= 0)).toBe(true)
  // Numbers of llama.cpp's enum ggml_type.
  const numbers = { Q8_1: 9, IQ2_XXS: 16, IQ1_S: 19, IQ3_S: 21, IQ2_S: 22, IQ1_M: 29, NVFP4: 40, Q2_0: 42 }
  for (const [dtype, number] of Object.entries(numbers)) expect(GGML_DTYPES.get(number)).toBe(dtype)
})

test.each(CODED_DTYPES)(
  '%s is read if complete, and rejected if truncated or if its rows have other lengths',
  async (dtype) => {
    const { elements, bytes } = BLOCKS[dtype]
    const file = await ggufBytes({
      metadata: {},
      tensors: [{ name: 'matrix', dtype, shape: [2, elements], data: () => [randomBlocks(dtype, 2, 1)] }],
    })
    expect((await open(file)).tensors.get('matrix')).toMatchObject({ dtype, byteLength: 2 * bytes })
    const withinData = file.length - 32
    await expect(open(file.slice(0, withinData))).rejects.toMatchObject({
      code: 'format',
      detail: { tensor: 'matrix', size: withinData },
    })
    // After the name come the number of dimensions and the row length.
    const at = Buffer.from(file).indexOf('matrix') + 'matrix'.length + 4
    new DataView(file.buffer).setBigUint64(at, BigInt(elements + 1), true)
    new DataView(file.buffer).setBigUint64(at + 8, 1n, true)
    await expect(open(file)).rejects.toMatchObject({
      code: 'format',
      message: expect.stringContaining(
        `rows of ${elements + 1}, but ${dtype} rows must be multiples of ${elements}`,
      ),
    })
  },
)
