// Tokens of whole models. In: tiny models whose files name tokens the way published models do. Out: whether
// they load, and begin and end replies correctly.
import { describe, expect, test } from 'vitest'
import { byteLevelSpec, jsonSpec } from '../../src/core/text/testing/tiny.ts'
import type { Engine } from '../../src/engine/api/engine.ts'
import { ggufFile, jsonFile, safetensorsFiles } from './testing/model-files.ts'
import { openEngine } from './testing/node-engine.ts'
import { randomLlama } from './testing/random-llama.ts'

const model = randomLlama({ seed: 38, gain: 1.5, speaks: true })
const GREEDY = { temperature: 0, maxTokens: 12, speculation: 'off' } as const
const { tokens, types = [] } = byteLevelSpec()

async function withFiles<T>(files: readonly File[], use: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine(files)
  try {
    return await use(engine)
  } finally {
    await engine.dispose()
  }
}

const inFolder = (name: string, contents: object) =>
  safetensorsFiles(model).map((file) => (file.name === name ? jsonFile(name, contents as never) : file))

describe('a folder with an added token that has no row', () => {
  const list = jsonSpec().tokenizer['added_tokens'] as object[]
  const image = { content: '<image>', id: tokens.length, special: true, normalized: false }
  const { tokenizer } = jsonSpec({ added_tokens: [...list, image] })

  test('replies as it does without the token, also with a schema, and rejects a text that contains it', async () => {
    const usual = await withFiles(safetensorsFiles(model), (engine) =>
      engine.complete('hello world', GREEDY).text(),
    )
    await withFiles(inFolder('tokenizer.json', tokenizer), async (engine) => {
      expect(await engine.complete('hello world', GREEDY).text()).toBe(usual)
      const schema = { enum: ['a', 'b'] }
      expect(['"a"', '"b"']).toContain(await engine.complete('hello', { ...GREEDY, schema }).text())
      await expect(engine.complete('hello<image>', GREEDY).text()).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining(`"<image>" to token ${tokens.length}`),
      })
      expect(await engine.createSession().send('hello <image>', GREEDY).text()).toEqual(expect.any(String))
    })
  })

  test('is rejected as a GGUF, or if the missing row is that of an ordinary token', async () => {
    const metadata = {
      'tokenizer.ggml.tokens': ['string[]', [...tokens, '[PAD]']],
      'tokenizer.ggml.token_type': ['i32[]', [...types, 3]],
    } as const
    const refused = withFiles([await ggufFile(model, 'F32', { metadata })], async () => {})
    await expect(refused).rejects.toMatchObject({ code: 'architecture' })
    const own = jsonSpec().tokenizer['model'] as { vocab: object }
    const more = jsonSpec({ model: { ...own, vocab: { ...own.vocab, zz: tokens.length } } }).tokenizer
    const other = withFiles(inFolder('tokenizer.json', more), async () => {})
    await expect(other).rejects.toMatchObject({
      code: 'format',
      message: expect.stringMatching(/a different model/),
    })
  })
})

test('an empty text continues from BOS, and is rejected by a model without BOS', async () => {
  const metadata = { 'tokenizer.ggml.add_bos_token': ['bool', true] } as const
  await withFiles([await ggufFile(model, 'F32', { metadata })], async (engine) => {
    const { usage } = await engine.complete('', { ...GREEDY, maxTokens: 5 }).result
    expect(usage).toMatchObject({ promptTokens: 1, completionTokens: 5 })
  })
  await withFiles([await ggufFile(model, 'F32')], async (engine) => {
    const empty = engine.complete('', GREEDY).result
    await expect(empty).rejects.toThrow('the prompt has 0 tokens')
  })
})

test('config.json names the id that ends a reply', async () => {
  const eos_token_id = [tokens.indexOf('Ġw')]
  const files = inFolder('config.json', { ...model.config, eos_token_id })
  const { text, finishReason } = await withFiles(
    files,
    (engine) => engine.complete('hello world', GREEDY).result,
  )
  expect([text, finishReason]).toEqual(['', 'stop'])
})

const NAMES = ['temperature', 'precipitation', 'humidity']
const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(NAMES.map((name) => [name, { enum: [1, 2] }])),
  required: NAMES,
  additionalProperties: false,
}

test.each([0, 1])(
  "a schema's property names are drafted at temperature %d, and the text is the same",
  (temperature) =>
    withFiles(safetensorsFiles(model), async (engine) => {
      const resultOf = (speculation: 'off' | 'lookup') =>
        engine.complete('hello', { schema: SCHEMA, compact: true, temperature, seed: 5, speculation }).result
      const plain = await resultOf('off')
      const drafted = await resultOf('lookup')
      expect(drafted.text).toBe(plain.text)
      expect(Object.keys(JSON.parse(drafted.text))).toEqual(NAMES)
      expect(plain.usage.draftedTokens).toBe(0)
      expect(drafted.usage.acceptedTokens).toBeGreaterThan(NAMES.length)
    }),
)
