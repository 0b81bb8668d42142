// halfbyte prune. In: the real program on a tiny model. Out: packs and folders with zeros, runs that were
// killed, and what mistakes are answered with.
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { appears, calibrationText } from '../testing/calibration.ts'
import { ended, folder, halfbyte, model, path, start } from '../testing/program.ts'

const { text, few } = calibrationText('pruning.txt')

describe('prune', () => {
  test('writes strips without their zeros, and says what each matrix lost', async () => {
    const output = path('strips.hbm')
    const { code, out } = await halfbyte(
      'prune',
      model,
      output,
      ...few,
      '--sparsity',
      '0.75',
      '--sparse',
      'sv32',
    )
    expect(code).toBe(0)
    expect(out).toMatch(
      /^layers\.0\.attn_q\.weight \[64,64\] w4_g32: 75\.0 % dropped, [\d.]+ % of the energy of its/m,
    )
    expect(out).toContain(`${output}: ${(await readFile(output)).length} bytes, 14 matrices, `)
    expect((await halfbyte('inspect', output)).out).toMatch(/^layers\.1\.mlp_down\.weight .* -> w4_g32_sv32/m)
    const dense = path('strips-dense.hbm')
    await halfbyte('prune', model, dense, ...few, '--sparsity', '0.75', '--sparse', 'none')
    const logits = async (pack: string) => {
      await halfbyte('logits', pack, '--tokens', '1,5,9', '--threads', '1', '--output', `${pack}.logits`)
      return readFile(`${pack}.logits`)
    }
    expect((await logits(output)).equals(await logits(dense))).toBe(true)
  }, 240_000)

  test('less is lost by obs than by methods that do not make up for what they drop', async () => {
    const losses: number[] = []
    for (const method of ['obs', 'wanda', 'magnitude']) {
      const asked = ['--method', method, '--pattern', '2:4', '--weights', 'f32', '--json'] as const
      const { out } = await halfbyte('prune', model, path(`${method}.hbm`), ...few, ...asked)
      const { loss, matrices } = JSON.parse(out)
      expect(matrices[0]).toMatchObject({ method, format: 'f32', dropped: 0.5 })
      losses.push(loss)
    }
    expect(losses).toEqual(losses.toSorted((left, right) => left - right))
  }, 240_000)

  test('writes plain safetensors with zeros, which convert stores as the pack of the same run', async () => {
    const [output, pack, again] = [path('sparse-folder'), path('sparse.hbm'), path('again.hbm')]
    const asked = ['--method', 'magnitude', '--sparsity', '0.5', '--pattern', 'sb84'] as const
    const source = path('folder')
    expect(
      (await halfbyte('prune', source, output, ...asked, '--weights', 'f32', '--as', 'safetensors')).code,
    ).toBe(0)
    expect((await halfbyte('prune', source, pack, ...asked, '--sparse', 'sb84')).code).toBe(0)
    expect((await halfbyte('convert', output, again, '--weights', 'w4', '--sparse', 'sb84')).code).toBe(0)
    const tail = async (file: string) => (await readFile(file)).subarray(-20_000)
    expect((await tail(pack)).equals(await tail(again))).toBe(true)
  }, 240_000)

  test('goes on after it was killed, to the same bytes, and only when asked to', async () => {
    const [whole, output] = [path('whole-pruned.hbm'), path('killed.hbm')]
    const asked = ['--calibration', text, '--context', '48', '--windows', '12', '--threads', '1'] as const
    const job = [...asked, '--sparsity', '0.5'] as const
    expect((await halfbyte('prune', model, whole, ...job)).code).toBe(0)
    const child = start('prune', model, output, ...job)
    void appears(`${output}.work/rows-1`).then(() => child.kill('SIGKILL'))
    await ended(child)
    expect(existsSync(output)).toBe(false)
    expect(await halfbyte('prune', model, output, ...job)).toMatchObject({
      ...{ code: 1, err: expect.stringMatching(/holds an unfinished job; add --resume to go on/) },
    })
    const other = await halfbyte('prune', model, output, ...asked, '--sparsity', '0.6', '--resume')
    expect(other).toMatchObject({
      ...{ code: 1, err: expect.stringMatching(/holds a job with other settings, text or model/) },
    })
    expect((await halfbyte('prune', model, output, ...job, '--resume')).code).toBe(0)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    expect(existsSync(`${output}.work`)).toBe(false)
  }, 240_000)

  test('--speed gives each product a sparsity of its own, the same again after a stop', async () => {
    const [whole, output] = [path('fast.hbm'), path('fast-stopped.hbm')]
    const job = [...few, '--speed', '1.5', '--weights', 'w8'] as const
    const { code, out } = await halfbyte('prune', model, whole, ...job)
    expect(code).toBe(0)
    const shares = [...out.matchAll(/: ([\d.]+) % dropped/g)].map(([, share]) => Number(share))
    expect(shares).toHaveLength(14)
    expect(new Set(shares.map(Math.round)).size).toBeGreaterThan(1)
    const child = start('prune', model, output, ...job)
    void appears(`${output}.work/layers.0.attn_q.weight.losses`).then(() => child.kill('SIGKILL'))
    await ended(child)
    expect(existsSync(output)).toBe(false)
    expect((await halfbyte('prune', model, output, ...job, '--resume')).code).toBe(0)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    const far = await halfbyte('prune', model, path('far.hbm'), ...few, '--speed', '9')
    expect(far.err).toMatch(
      /^unsupported: the sparsest choices still cost [\d.]+ of the budget; raise the budget/,
    )
    expect(
      await halfbyte('prune', model, path('other.hbm'), ...few, '--speed', '2', '--pattern', '2:4'),
    ).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: --speed goes by measured times of sv32 and sb84/),
    })
  }, 240_000)

  test('mistakes in what it is given have their own answers', async () => {
    const answers = [
      [['--sparsity', '0.5'], /^unsupported: obs needs a text to calibrate on; give --calibration FILE/],
      [[...few], /^unsupported: sv32 does not say how many weights to drop; give --sparsity/],
      [
        [...few, '--pattern', '5:4'],
        /^unsupported: 5:4 is no pattern; choose unstructured, sb84, sv32, or N:M/,
      ],
      [[...few, '--pattern', '2:4', '--sparsity', '0.9'], /^unsupported: 2:4 drops 0.5 of the weights/],
      [
        [...few, '--sparsity', '0.5', '--as', 'safetensors'],
        /^unsupported: safetensors hold plain weights and the weights are w4; add --weights f32/,
      ],
    ] as const
    for (const [args, line] of answers) {
      const { code, err } = await halfbyte('prune', model, path('none.hbm'), ...args)
      expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(line) })
    }
    expect((await halfbyte('prune', model, path('none.hbm'), ...few, '--sparsity', '2')).code).toBe(2)
    expect((await readdir(folder)).filter((name) => name.startsWith('none.hbm'))).toEqual([])
  }, 180_000)
})
