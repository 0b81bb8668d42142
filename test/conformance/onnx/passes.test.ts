// Passes. In: exports of torch and the models of onnxruntime's optimiser tests. Out: whether each pass
// preserves the outputs on random inputs, and how many nodes remain.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { evaluateDim } from '../../../src/network/onnx/ir/dims.ts'
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import { isFloat, type Tensor, tensorOf, zeros } from '../../../src/network/onnx/ir/tensor.ts'
import { runPasses } from '../../../src/network/onnx/passes/pass.ts'
import { PASSES } from '../../../src/network/onnx/passes.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { fixtureText } from '../../helpers/fixture.ts'
import { randomFrom } from '../../helpers/random.ts'
import { difference } from './node-case.ts'
import { evaluate } from './verify/evaluate.ts'

const EXPORTS = join(import.meta.dirname, 'exports')
/** Models of onnxruntime's optimiser tests, by their paths there. */
const TRANSFORM: ReadonlyMap<string, Uint8Array> = new Map(
  fixtureText('onnx/transform.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ name, model }) => [name, new Uint8Array(Buffer.from(model, 'base64'))]),
)
/** A rewrite may change the order of sums. */
const TOLERANCE: [number, number] = [1e-4, 1e-5]

const read = async (path: string, bytes: Uint8Array) =>
  (await readModel(bufferSource(path, bytes), { inlineBytes: Infinity })).graph

/** Floats between -1 and 1, whole numbers from 0 to 2; sums of symbols keep their sum. */
function randomFeeds(graph: Graph): Map<string, Tensor> {
  const symbols = new Map<string, number>()
  let next = 2
  const random = randomFrom(1)
  for (const { type } of graph.inputs)
    for (const dim of type?.dims ?? []) {
      const isName = typeof dim === 'string' && !/[ +*(]/.test(dim)
      if (isName && !symbols.has(dim)) symbols.set(dim, /batch/.test(dim) ? 1 : next++)
    }
  // torch.export gives the mask its own symbol for the sum of the two others.
  const mask = graph.inputs.find(({ name }) => name === 'attention_mask')?.type?.dims?.[1]
  const [tokens, past] = ['s', 'p'].map((name) => symbols.get(name))
  if (typeof mask === 'string' && tokens !== undefined && past !== undefined) symbols.set(mask, tokens + past)
  return new Map(
    graph.inputs.map(({ name, type }) => {
      const dtype = type?.dtype ?? 'f32'
      const made = zeros(
        dtype,
        (type?.dims ?? []).map((dim) => evaluateDim(dim, symbols) ?? 2),
      )
      const value = isFloat(dtype) ? () => 2 * random() - 1 : () => Math.floor(2 * random())
      return [name, tensorOf(dtype, made.dims, Array.from(made.data as ArrayLike<number>, value))]
    }),
  )
}

function verified(graph: Graph): number {
  const feeds = randomFeeds(graph)
  const expected = evaluate(graph, feeds)
  const { graph: optimised } = runPasses(graph, PASSES, {
    verify(_, after, pass) {
      const found = evaluate(after, feeds)
      for (const [name, tensor] of expected)
        expect(difference(found.get(name), tensor, TOLERANCE), `${name} after ${pass}`).toBeUndefined()
    },
  })
  return optimised.nodes.length
}

test.each([
  ['llama-no-cache', 260],
  ['llama-cache', 220],
  ['qwen2-cache', 240],
  ['qwen3-cache', 270],
  ['opset23', 100],
  ['mamba-channels', 140],
  ['mamba-rows', 100],
])('%s has the same outputs after every pass', async (name, most) => {
  const path = join(EXPORTS, name, 'model.onnx')
  expect(verified(await read(path, new Uint8Array(readFileSync(path))))).toBeLessThanOrEqual(most)
})

test("models of onnxruntime's optimiser tests have the same outputs", { timeout: 300_000 }, async () => {
  let same = 0
  let left = 0
  for (const [path, bytes] of TRANSFORM) {
    try {
      verified(await read(path, bytes))
      same++
    } catch (error) {
      // Operators and opsets without an entry, and inputs for which these random numbers are not valid.
      if (!isHalfbyteError(error)) throw new Error(path, { cause: error })
      expect(error.code, path).not.toBe('internal')
      left++
    }
  }
  console.log(`${same} models verified, ${left} not covered`)
  expect(same).toBeGreaterThan(100)
})

/**
 * Number of models, of the 279 that can be read, that end up with no more nodes than after ONNX Runtime's
 * basic passes.
 */
const REACHED = 240

test("models of onnxruntime's optimiser tests become as small as after its own passes", async () => {
  const theirs: Record<string, number> = JSON.parse(
    readFileSync(join(import.meta.dirname, 'golden/optimised-counts.json'), 'utf8'),
  )
  const larger: string[] = []
  for (const [name, most] of Object.entries(theirs)) {
    const made = await nodesLeft(name)
    if (made === undefined || made > most) larger.push(name)
  }
  const all = Object.keys(theirs).length
  console.log(`${all - larger.length} of ${all} models have as few nodes`)
  expect(all - larger.length, `larger: ${larger.join(', ')}`).toBeGreaterThanOrEqual(REACHED)
})

/** undefined for a model that cannot be read or that a pass rejects. */
async function nodesLeft(name: string): Promise<number | undefined> {
  const options = { inlineBytes: Infinity, oldestOpset: 1 }
  try {
    const source = bufferSource(name, TRANSFORM.get(name) ?? new Uint8Array())
    return runPasses((await readModel(source, options)).graph, PASSES).graph.nodes.length
  } catch (error) {
    if (isHalfbyteError(error)) return undefined
    throw error
  }
}
