// halfbyte convert to GGUF. In: the real program on a tiny folder. Out: an equivalent file, and the messages
// for mistakes.
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { GREEDY, halfbyte, model, path, testModels } from '../testing/program.ts'

testModels()

describe('convert to GGUF', () => {
  test('writes a file equivalent to the folder, named after it', async () => {
    const [whole, small] = [path('whole.gguf'), path('small.gguf')]
    expect((await halfbyte('convert', path('folder'), whole)).out).toMatch(/^\S+whole\.gguf: \d+ bytes\n$/)
    expect(await halfbyte('convert', path('folder'), small, '--format', 'q4_0')).toMatchObject({ code: 0 })
    const said = (source: string) => halfbyte('generate', source, ...GREEDY, '--weights', 'f32')
    expect((await said(whole)).out).toBe((await said(path('folder'))).out)
    const shown = (await halfbyte('inspect', small)).out
    expect(shown).toMatch(/^name +folder$/m)
    expect(shown).toMatch(/^layers\.0\.mlp_down\.weight .* Q4_0 -> /m)
    expect(shown).toMatch(/^embed\.weight .* Q8_0 -> /m)
  }, 180_000)

  test.each([
    [
      () => [model, path('no.gguf')],
      /random is gguf, and GGUF is written from a folder with safetensors; write a \.hbm, or re-quantize a GGUF file with "halfbyte quantize"/,
    ],
    [
      () => [path('folder'), path('no.gguf'), '--shard-size', '64MB'],
      /no\.gguf is GGUF, and --shard-size is for \.hbm packs; choose its matrices with --format f32, f16, q8_0, q4_0/,
    ],
    [
      () => [path('folder'), path('no.hbm'), '--format', 'f16'],
      /no\.hbm is a \.hbm pack, and --format is for GGUF; choose --weights, or end the output with \.gguf/,
    ],
  ])(
    'error %#: names the mistake and what to do',
    async (args, said) => {
      expect(await halfbyte('convert', ...args())).toMatchObject({
        code: 1,
        err: expect.stringMatching(said),
      })
      expect(existsSync(path('no.gguf'))).toBe(false)
    },
    180_000,
  )
})
