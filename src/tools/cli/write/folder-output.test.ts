// halfbyte convert to a folder. In: the real program on a tiny GGUF model. Out: an equivalent folder, and the
// messages for mistakes.
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { GREEDY, halfbyte, model, path, testModels } from '../testing/program.ts'

testModels()

test('writes a folder that says the same as the GGUF file', async () => {
  const output = path('hf/')
  expect(await halfbyte('convert', model, output, '--format', 'f32')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/hf\/: \d+ bytes\n$/),
    err: '',
  })
  expect((await readdir(output)).sort()).toEqual([
    'config.json',
    'generation_config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
  ])
  const [own, made] = await Promise.all(
    [model, output].map((source) => halfbyte('generate', source, ...GREEDY, '--weights', 'f32')),
  )
  expect(made).toEqual(own)
  const again = await halfbyte('convert', model, output)
  expect(again).toMatchObject({
    code: 1,
    err: expect.stringMatching(/hf\/ already exists; give another path/),
  })
}, 180_000)

test.each([
  [
    () => [model, path('no'), '--as', 'safetensors', '--format', 'q8_0'],
    /no is a folder with safetensors, and --format q8_0 is for GGUF; choose its matrices with --format f32, f16 or bf16, or write a \.hbm/,
  ],
  [
    () => [model, path('no/'), '--shard-size', '64MB'],
    /no\/ is a folder with safetensors, and --shard-size is for \.hbm packs; choose its matrices/,
  ],
  [
    () => [path('folder'), path('no/')],
    /is a folder with safetensors already; choose another type for its matrices with --format f32, f16 or bf16, or merge an adapter/,
  ],
  [
    () => [model, path('no.gguf'), '--as', 'safetensors'],
    /no\.gguf would be a folder with the extension of another/,
  ],
])(
  'error %#: names the mistake and what to do',
  async (args, said) => {
    expect(await halfbyte('convert', ...args())).toMatchObject({ code: 1, err: expect.stringMatching(said) })
    expect(existsSync(path('no'))).toBe(false)
  },
  60_000,
)
