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

  test('changes the types of a GGUF file, and writes a pack back with its codes', async () => {
    const [small, pack, back] = [path('q4.gguf'), path('q4.hbm'), path('back.gguf')]
    expect(await halfbyte('convert', model, small, '--format', 'q4_0')).toMatchObject({ code: 0, err: '' })
    const again = await halfbyte('convert', small, path('q8.gguf'), '--format', 'q8_0')
    expect(again.err).toMatch(
      /^note: weights in Q4_0 are rounded again; the original weights would give better codes$/m,
    )
    expect(await halfbyte('convert', small, pack)).toMatchObject({ code: 0 })
    expect(await halfbyte('convert', pack, back)).toMatchObject({ code: 0, err: '' })
    const said = await Promise.all(
      [small, pack, back].map((source) => halfbyte('generate', source, ...GREEDY)),
    )
    expect(new Set(said.map(({ out }) => out)).size).toBe(1)
  }, 180_000)

  test.each([
    [
      () => [model, path('no.gguf')],
      /random is GGUF already; choose another type for its matrices with --format f32, f16, bf16, q8_0, q4_1, q4_0/,
    ],
    [
      () => [model, path('no.gguf'), '--format', 'q8_0', '--name', 'other'],
      /random is GGUF and keeps its metadata, so --name cannot be applied; omit it, or write a \.hbm/,
    ],
    [
      () => [path('folder'), path('no.gguf'), '--shard-size', '64MB'],
      /no\.gguf is GGUF, and --shard-size is for \.hbm packs; choose its matrices with --format f32, f16, bf16, q8_0, q4_1, q4_0/,
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
