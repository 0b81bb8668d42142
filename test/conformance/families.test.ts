// Conformance of families. In: a small random model of each, as GGUF and as safetensors. Out: the results of
// native llama.cpp.
//
// golden/families.json has llama.cpp's results; test/conformance/testing/families/write-families.ts writes
// it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openModel } from '../../src/core/arch/open-model.ts'
import { blobSource } from '../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../src/core/base/errors.ts'
import { writePack } from '../../src/core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import golden from './golden/families.json' with { type: 'json' }
import { BUILDS } from './testing/builds.ts'
import { FAMILY_CASES } from './testing/families/family-cases.ts'
import { drawFamily, familyGguf, familySafetensors } from './testing/families/family-files.ts'
import { type FamilyGolden, numbersOf, TOKENS, watchedIds } from './testing/families/family-golden.ts'
import type { FamilyCase } from './testing/families/family-tensors.ts'
import { jsonFile, newFile } from './testing/model-files.ts'
import { largestDifference, logitsOf, openEngine, withBuilt } from './testing/node-engine.ts'
import { concat } from './testing/writers/gguf-writer.ts'

const answers: Readonly<Record<string, FamilyGolden>> = golden
const CONTEXT = 128

async function filesOf(one: FamilyCase): Promise<{ gguf: File[]; safetensors: File[] }> {
  const weights = drawFamily(one, answers[one.family]?.seed ?? 0)
  const gguf = newFile(`${one.family}.gguf`, await familyGguf(one, weights))
  return { gguf: [gguf], safetensors: familySafetensors(one, weights) }
}

const logits = (files: readonly File[]) =>
  withBuilt(files, { contextLength: CONTEXT }, (built) => logitsOf(built, TOKENS))

function logProbabilities(row: Float32Array): Float64Array {
  const most = row.reduce((a, b) => Math.max(a, b))
  const sum = row.reduce((total, x) => total + Math.exp(x - most), 0)
  return Float64Array.from(row, (x) => x - most - Math.log(sum))
}

const HOSTILE = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.string(),
  fc.boolean(),
  fc.array(fc.oneof(fc.integer(), fc.string()), { maxLength: 3 }),
  fc.constantFrom(null, 2 ** 31, 2 ** 53, 0, -0, 1e-300, {}),
)

describe.each(FAMILY_CASES)('$family', (one) => {
  const { best, watched } = answers[one.family] as FamilyGolden

  test("gives llama.cpp's tokens and log-probabilities at 64 positions", async () => {
    const { gguf } = await filesOf(one)
    const rows = (await logits(gguf)).map(logProbabilities)
    expect(rows).toHaveLength(64)
    expect(rows.map((row) => row.indexOf(Math.max(...row)))).toEqual(numbersOf(best))
    const found = rows.map((row, at) => watchedIds(at, row.length).map((id) => row[id]!))
    expect(largestDifference(found, watched.map(numbersOf))).toBeLessThan(2e-2)
  })

  test('gives the same logits from safetensors', async () => {
    const { gguf, safetensors } = await filesOf(one)
    expect(largestDifference(await logits(gguf), await logits(safetensors))).toBeLessThan(1e-4)
  })

  test('gives the same logits from a pack', async () => {
    const { safetensors } = await filesOf(one)
    const file = await openModel(safetensors.map((each) => blobSource(each.name, each)))
    const prepared = await prepareModel(file, { weights: 'auto' })
    const chunks: Uint8Array[] = []
    for await (const chunk of writePack(await packContents(prepared))) chunks.push(chunk)
    const packed = await logits([newFile('model.hbm', concat(chunks))])
    expect(largestDifference(packed, await logits(safetensors))).toBe(0)
  })

  test('loads or fails with a typed error for any value of a config.json key', async () => {
    const { safetensors } = await filesOf(one)
    const others = safetensors.filter(({ name }) => name !== 'config.json')
    const open = (config: object) =>
      openModel([...others, jsonFile('config.json', config)].map((file) => blobSource(file.name, file)))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(one.config)), HOSTILE, async (key, hostile) => {
        try {
          await prepareModel(await open({ ...one.config, [key]: hostile }), { weights: 'auto' })
        } catch (error) {
          if (!isHalfbyteError(error) || error.code === 'internal') throw error
        }
      }),
      { numRuns: 60 },
    )
  })

  test.each(['w8', 'w4'] as const)(
    '%s: gives the same text in every build and with any number of threads',
    async (weights) => {
      const { gguf } = await filesOf(one)
      const texts: string[] = []
      for (const options of BUILDS) {
        await using engine = await openEngine(gguf, { ...options, weights, contextLength: CONTEXT })
        const reply = await engine.complete('hello world', { temperature: 0, maxTokens: 24 }).result
        texts.push(reply.tokens.join())
      }
      expect(new Set(texts).size).toBe(1)
      expect(texts[0]?.length).toBeGreaterThan(0)
    },
  )
})
