// K-quants by llama.cpp. In: a random Llama. Out: whether files in its blocks give llama.cpp's greedy tokens
// here, and come closer to the float model the more bits they have.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { type KQuant, writeKQuants } from '../../../src/tools/cli/write/k-quants.ts'
import { modelGguf } from '../../../src/tools/shrink/gguf/model-gguf.ts'
import { llamaCppAddon, llamaCppLogProbabilities } from '../testing/llama-cpp.ts'
import { newFile, safetensorsFiles } from '../testing/model-files.ts'
import { logitsOf, relativeError, withBuilt } from '../testing/node-engine.ts'
import { needsModules, PYTHON } from '../testing/python.ts'
import { randomLlama } from '../testing/random-llama.ts'

const { signal } = new AbortController()
const addon = llamaCppAddon()

// K-quant blocks have 256 weights of a row.
const FOLDER = safetensorsFiles(
  randomLlama({ seed: 6, heads: 4, kvHeads: 2, headDim: 64, intermediate: 512, gain: 1.6, speaks: true }),
)
const PROMPT = [71, 64, 79, 79, 88]
const COUNT = 24
/**
 * Maximum difference in nats between two tokens of which either engine may prefer one: llama.cpp rounds the
 * activations to 8 bits, and many tokens of a random model are about equally likely.
 */
const NEAR = 0.3

/** The type of most matrices, and the allowed distance of the logits from the float model's. */
const TYPES: Readonly<Partial<Record<KQuant, readonly [string, number]>>> = {
  q2_k: ['Q2_K', 1.1],
  q3_k_m: ['Q3_K', 0.8],
  q4_k_m: ['Q4_K', 0.45],
  q5_k_s: ['Q5_K', 0.28],
  q6_k: ['Q6_K', 0.15],
}

const folder = await mkdtemp(join(tmpdir(), 'halfbyte-k-quants-'))
afterAll(() => rm(folder, { recursive: true }))

const opened = (files: readonly File[]) => openModel(files.map((each) => blobSource(each.name, each)))

async function written(format: KQuant): Promise<File> {
  const prepared = await prepareModel(await opened(FOLDER), { weights: 'f32', forPack: true })
  const output = join(folder, `${format}.gguf`)
  const { chunks } = modelGguf(prepared, { dtype: 'F16', name: 'random', signal })
  await writeKQuants(output, chunks, { format, python: PYTHON }, signal)
  return newFile(`${format}.gguf`, new Uint8Array(await readFile(output)))
}

const best = (row: ArrayLike<number>): number => Array.from(row).indexOf(Math.max(...Array.from(row)))

const rowsOf = (files: readonly File[], ids: readonly number[]) =>
  withBuilt(files, { weights: 'f32' }, (built) => logitsOf(built, ids))

/** The prompt and the tokens that this engine chooses after it. */
const greedy = (file: File): Promise<number[]> =>
  withBuilt([file], { weights: 'f32' }, async (built) => {
    const ids = [...PROMPT]
    while (ids.length < PROMPT.length + COUNT) ids.push(best((await logitsOf(built, ids)).at(-1)!))
    return ids
  })

describe('K-quants', () => {
  beforeEach((context) => {
    needsModules(context, 'llama_cpp')
    if (addon === undefined) context.skip('skipped: node-llama-cpp is not installed')
  })

  test.each(Object.entries(TYPES))('%s', async (format, [dtype, most]) => {
    const file = await written(format as KQuant)
    expect(await readdir(folder)).toContain(`${format}.gguf`)
    const dtypes = [...(await opened([file])).tensors.values()].map((each) => each.dtype)
    expect(dtypes.filter((each) => each === dtype).length).toBeGreaterThanOrEqual(5)

    const ids = await greedy(file)
    const native = await llamaCppLogProbabilities(file, ids, addon ?? '')
    const own = ids.slice(PROMPT.length)
    const gaps = own.map((id, at) => {
      const row = native[PROMPT.length - 1 + at] ?? new Float64Array()
      return Math.max(...row) - row[id]!
    })
    expect(Math.max(...gaps)).toBeLessThan(NEAR)
    expect(gaps.filter((gap) => gap === 0).length).toBeGreaterThanOrEqual(COUNT - 3)
    expect(new Set(own).size).toBeGreaterThan(5)
    expect(relativeError(await rowsOf([file], ids), await rowsOf(FOLDER, ids))).toBeLessThan(most)
  })

  test('no other files are left', async () => {
    expect((await readdir(folder)).every((name) => /^q\w+\.gguf$/.test(name))).toBe(true)
  })
})
