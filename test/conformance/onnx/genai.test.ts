// Tiny models of onnxruntime-genai. In: test/fixtures/onnx/genai. Out: ONNX Runtime's first 64 logits of each
// position, or a rejection that names a node.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { fixturePath } from '../../helpers/fixture.ts'
import { largestDifference, logitsOf, withModel } from '../testing/node-engine.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { openGraph } from './open-graph.ts'

const MODELS = fixturePath('onnx/genai')
const EXPECTED = JSON.parse(readFileSync(join(import.meta.dirname, 'exports/genai-logits.json'), 'utf8'))

const openFolder = (name: string) => {
  const folder = join(MODELS, name)
  const files = readdirSync(folder).filter((file) => file.endsWith('.onnx') || file === 'genai_config.json')
  const read = (file: string) => bufferSource(file, new Uint8Array(readFileSync(join(folder, file))))
  return openGraph([...files.map(read), byteTokenizer(256)])
}

test.each([
  ['tiny-random-gpt2-fp32', { family: 'gpt2', contextLength: 512, layers: 5 }, 2e-6],
  // ONNX Runtime computes these in f16.
  ['tiny-random-gpt2-fp16-cuda', { family: 'gpt2', contextLength: 512, layers: 5 }, 2e-3],
  // Its logits are at most 0.015.
  ['tiny-qwen35-cuda', { family: 'gpt_neox', contextLength: 128, layers: 2 }, 2e-5],
] as const)('%s', async (name, config, most) => {
  const file = await openFolder(name)
  expect(file.metadata.get('config')).toMatchObject(config)
  const { ids, logits } = EXPECTED[name]
  const found = await withModel(file, {}, (built) => logitsOf(built, ids))
  expect(
    largestDifference(
      found.map((row) => row.slice(0, 64)),
      logits,
    ),
  ).toBeLessThan(most)
})

test('tiny-random-lfm2-fp32 is rejected by name', async () => {
  await expect(openFolder('tiny-random-lfm2-fp32')).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/input_ids, position_ids, .* attends or keeps a state; text decoders do/),
  })
})
