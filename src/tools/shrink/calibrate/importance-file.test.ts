// Importance matrices. In: files in both forms of llama.cpp, whole, damaged or of other models. Out: means by
// matrix, codes that follow them, and refusals.
import { describe, expect, test } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import {
  concat,
  type GgufTensor,
  ggufBytes,
} from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource, bufferSource } from '../../../core/base/bytes.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../cli/node-host.ts'
import { layMatrix } from '../codes/lay.ts'
import { rtn } from '../matrix/grid.ts'
import { readMatrix } from './gram.ts'
import { importanceOf, readImportance } from './importance-file.ts'
import { quantizeModel } from './quantize-model.ts'
import { matricesOf, memoryWork } from './work-files.ts'

const { signal } = new AbortController()

/** Means and how often a matrix was called, by name. */
type Entries = Readonly<Record<string, { readonly means: readonly number[]; readonly count: number }>>

const floats = (values: readonly number[]) => new Uint8Array(Float32Array.from(values).buffer)
const integers = (...values: readonly number[]) => new Uint8Array(Int32Array.from(values).buffer)
const text = new TextEncoder()

/** Each list is of one matrix; `experts` cuts it into several. */
function sums(entries: Entries, experts = 1): Promise<Uint8Array> {
  const tensors = Object.entries(entries).flatMap(([name, { means, count }]): GgufTensor[] => [
    {
      name: `${name}.in_sum2`,
      dtype: 'F32',
      shape: [experts, means.length / experts],
      data: () => [floats(means.map((mean) => mean * count))],
    },
    {
      name: `${name}.counts`,
      dtype: 'F32',
      shape: [experts, 1],
      data: () => [floats(Array(experts).fill(count))],
    },
  ])
  return ggufBytes({ metadata: { 'general.type': ['string', 'imatrix'] }, tensors })
}

function calls(entries: Entries): Uint8Array {
  const parts = Object.entries(entries).flatMap(([name, { means, count }]) => {
    const bytes = text.encode(name)
    return [
      integers(bytes.length),
      bytes,
      integers(count, means.length),
      floats(means.map((mean) => mean * count)),
    ]
  })
  // The last chunk and the name of the text follow.
  return concat([integers(Object.keys(entries).length), ...parts, integers(7, 4), text.encode('wiki')])
}

const read = (bytes: Uint8Array) => readImportance(bufferSource('imatrix', bytes))
const model = randomLlama({ seed: 5, layers: 1 })
const prepared = async (files: readonly File[]) =>
  prepareModel(await openModel(files.map((file) => blobSource(file.name, file))), {
    weights: 'w4',
    forPack: true,
  })

const meansOf = (k: number, seed: number) => Array.from({ length: k }, (_, i) => 2 ** (((i + seed) * 7) % 11))
const NAMES = ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down']
const OURS = ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'mlp_gate', 'mlp_up', 'mlp_down']

async function entriesOf(files: readonly File[]): Promise<Entries> {
  const { weights } = await prepared(files)
  return Object.fromEntries(
    NAMES.map((name, at) => {
      const k = weights.get(`layers.0.${OURS[at]}.weight`)!.shape[1]!
      return [`blk.0.${name}.weight`, { means: meansOf(k, at), count: 3 }]
    }),
  )
}

describe('readImportance', () => {
  const entries = { 'blk.0.ffn_up.weight': { means: [1, 4, 0.25, 9], count: 2 } }

  test('gives the means of both forms', async () => {
    const expected = [['blk.0.ffn_up.weight', [Float32Array.of(1, 4, 0.25, 9)]]]
    expect([...(await read(await sums(entries)))]).toEqual(expected)
    expect([...(await read(calls(entries)))]).toEqual(expected)
  })

  test('gives each expert its means, and none to one that no token reached', async () => {
    expect((await read(await sums(entries, 2))).get('blk.0.ffn_up.weight')).toEqual([
      Float32Array.of(1, 4),
      Float32Array.of(0.25, 9),
    ])
    const unused = { x: { means: [0, 0], count: 0 } }
    expect((await read(await sums(unused))).get('x')).toEqual([undefined])
    expect((await read(calls(unused))).get('x')).toEqual([undefined])
  })

  test.each([
    // Without the padding after the counts, and without what follows the entries.
    ['GGUF', async () => (await sums(entries)).slice(0, -28)],
    ['.dat', async () => calls(entries).slice(0, -12)],
  ])('refuses every cut of the %s form', async (_, make) => {
    const bytes = await make()
    for (let length = 0; length < bytes.length; length++) {
      await expect(read(bytes.subarray(0, length)), `${length}`).rejects.toMatchObject({ code: 'format' })
    }
  })

  test('refuses claims beyond the file, values that are not means of squares, and other files', async () => {
    const claims = calls(entries)
    new DataView(claims.buffer).setInt32(4 + 4 + 19 + 4, 2 ** 30, true)
    await expect(read(claims)).rejects.toThrow(/claims 1073741824 values of 2 calls with \d+ bytes left/)
    for (const mean of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      const bad = { x: { means: [1, mean], count: 1 } }
      await expect(read(await sums(bad))).rejects.toThrow(/"x" has a value that is not a mean of squares/)
      await expect(read(calls(bad))).rejects.toThrow(/"x" has a value that is not a mean of squares/)
    }
    const gguf = new Uint8Array(await (await ggufFile(model)).arrayBuffer())
    await expect(read(gguf)).rejects.toThrow(
      /is not an importance matrix; give the file that llama-imatrix wrote/,
    )
    await expect(read(text.encode('Once upon a time, there was'))).rejects.toThrow(
      /is not an importance matrix/,
    )
  })
})

describe('importanceOf', () => {
  test.each([
    ['GGUF', async () => [await ggufFile(model)]],
    ['safetensors', async () => safetensorsFiles(model)],
  ])('rounds the matrices of a %s model by their importance', async (_, make) => {
    const files = await make()
    const entries = await entriesOf(files)
    const own = await prepared(files)
    const { importance, unknown } = importanceOf(await read(calls(entries)), own, 'imatrix')
    expect(unknown).toEqual([])
    const rounded = async (given?: typeof importance) => {
      const work = memoryWork()
      const { contents } = await quantizeModel(own, {
        method: 'rtn',
        format: 'w4_g32',
        importance: given,
        windows: [],
        host: nodeHost(),
        threads: 1,
        signal,
        work,
        damp: 0.01,
        sweeps: 0,
        drift: 0,
        onMatrix: () => undefined,
        startSolver: () => {
          throw new Error('rounding needs no solver')
        },
        card: { signal },
      })
      const bytes = new Map<string, Uint8Array>()
      for (const { name, data } of contents.tensors) {
        if (!matricesOf(own).includes(name)) continue
        const chunks: Uint8Array[] = []
        for await (const chunk of data()) chunks.push(chunk)
        bytes.set(name, concat(chunks))
      }
      return bytes
    }
    const weighted = await rounded(importance)
    const plain = await rounded()
    for (const [at, name] of OURS.entries()) {
      const tensor = own.weights.get(`layers.0.${name}.weight`)!
      const [n = 0, k = 0] = tensor.shape
      const expected = rtn(
        await readMatrix(tensor, signal),
        n,
        k,
        'w4_g32',
        Float64Array.from(meansOf(k, at)),
      )
      expect(weighted.get(`layers.0.${name}.weight`)).toEqual(layMatrix(expected))
      expect(weighted.get(`layers.0.${name}.weight`)).not.toEqual(plain.get(`layers.0.${name}.weight`))
    }
  })

  test('names the matrices that the file does not know, and refuses the file of another model', async () => {
    const files = safetensorsFiles(model)
    const own = await prepared(files)
    const { 'blk.0.ffn_up.weight': _, ...some } = await entriesOf(files)
    expect(importanceOf(await read(calls(some)), own, 'imatrix').unknown).toEqual(['layers.0.mlp_up.weight'])
    const wide = { ...some, 'blk.0.ffn_down.weight': { means: [1, 2], count: 1 } }
    const other = await read(calls(wide))
    expect(() => importanceOf(other, own, 'imatrix')).toThrow(
      /importance of 2 inputs for "blk\.0\.ffn_down\.weight", and the model's has \d+; give the one/,
    )
    const foreign = await read(calls({ 'blk.40.ffn_up.weight': { means: [1], count: 1 } }))
    expect(() => importanceOf(foreign, own, 'imatrix')).toThrow(/1 matrices, none of which the model has/)
  })
})
