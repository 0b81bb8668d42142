// halfbyte prune. In: the real program on a tiny model. Out: packs and folders with zeros, resumed runs, and
// the messages for mistakes.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { peftFiles, randomLora } from '../../../../test/conformance/testing/writers/lora-files.ts'
import { appears, calibrationText } from '../testing/calibration.ts'
import { ended, folder, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

const { text, few } = calibrationText('pruning.txt')

describe('prune', () => {
  test('stores strips without their zeros, and reports each matrix’s loss', async () => {
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

  test('obs loses less than methods that do not compensate for dropped weights', async () => {
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

  test('writes plain safetensors with zeros, which convert turns into the pack of the same run', async () => {
    const output = path('sparse-folder')
    const pack = path('sparse.hbm')
    const again = path('again.hbm')
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

  test('resumes after being killed, with the same bytes, and only with --resume', async () => {
    const whole = path('whole-pruned.hbm')
    const output = path('killed.hbm')
    const asked = ['--calibration', text, '--context', '48', '--windows', '12', '--threads', '1'] as const
    const job = [...asked, '--sparsity', '0.5'] as const
    expect((await halfbyte('prune', model, whole, ...job)).code).toBe(0)
    const child = start('prune', model, output, ...job)
    void appears(`${output}.work/rows-1`).then(() => child.kill('SIGKILL'))
    await ended(child)
    expect(existsSync(output)).toBe(false)
    expect(await halfbyte('prune', model, output, ...job)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains an unfinished job; add --resume to continue/),
    })
    const other = await halfbyte('prune', model, output, ...asked, '--sparsity', '0.6', '--resume')
    expect(other).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains a job that differs from this one in settings/),
    })
    expect((await halfbyte('prune', model, output, ...job, '--resume')).code).toBe(0)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    expect(existsSync(`${output}.work`)).toBe(false)
  }, 240_000)

  test('--speed gives each product its own sparsity, which a restart does not change', async () => {
    const whole = path('fast.hbm')
    const output = path('fast-stopped.hbm')
    const job = [...few, '--speed', '1.5', '--weights', 'w8'] as const
    const { code, out } = await halfbyte('prune', model, whole, ...job)
    expect(code).toBe(0)
    const shares = [...out.matchAll(/\] w8_g32: ([\d.]+) % dropped/g)].map(([, share]) => Number(share))
    expect(shares).toHaveLength(14)
    expect(new Set(shares.map(Math.round)).size).toBeGreaterThan(1)
    const child = start('prune', model, output, ...job)
    void appears(`${output}.work/layers.0.attn_q.weight.losses`).then(() => child.kill('SIGKILL'))
    await ended(child)
    expect(existsSync(output)).toBe(false)
    expect((await halfbyte('prune', model, output, ...job, '--resume')).code).toBe(0)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    expect(Number(/products ([\d.]+) times as fast/.exec(out)?.[1])).toBeGreaterThanOrEqual(1.5)
    const far = await halfbyte('prune', model, path('far.hbm'), ...few, '--speed', '9')
    expect(far.err).toMatch(
      /^unsupported: the sparsest choices still cost [\d.]+ of the budget; raise the budget/,
    )
    expect(
      await halfbyte('prune', model, path('other.hbm'), ...few, '--speed', '2', '--pattern', '2:4'),
    ).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: a budget uses measured times of sv32 and sb84/),
    })
  }, 240_000)

  test('adapters and scope change the output', async () => {
    const adapter = path('prune-adapter')
    await mkdir(adapter)
    const lora = randomLora(randomLlama({ seed: 5 }).weights, /q_proj|down_proj/, 2, 9)
    for (const file of peftFiles(lora)) await writeFile(join(adapter, file.name), await file.bytes())
    const asked = [[], ['--lora', adapter], ['--scope', 'row']] as const
    const packs: string[] = []
    for (const [index, more] of asked.entries()) {
      const output = path(`choice-${index}.hbm`)
      const { code, out } = await halfbyte(
        'prune',
        model,
        output,
        ...few,
        '--sparsity',
        '0.5',
        '--pattern',
        'sb84',
        '--json',
        ...more,
      )
      expect(code).toBe(0)
      for (const { dropped } of JSON.parse(out).matrices) expect(dropped).toBe(0.5)
      packs.push((await readFile(output)).toString('base64'))
    }
    expect(new Set(packs).size).toBe(asked.length)
  }, 240_000)

  test('measured costs determine tokens per second', async () => {
    const costs = path('costs.json')
    const output = path('by-costs.hbm')
    const measured = await halfbyte('measure-costs', model, costs, '--samples', '2')
    expect(measured).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+ x 64: [\d.e-]+ ms; sb84 at/) })
    const table = JSON.parse(await readFile(costs, 'utf8'))
    // Times on a busy machine are unreliable, so the budget leaves half of the products' time.
    const slow = (curve: [number, number][]) => curve.map(([kept]) => [kept, kept])
    const matrices = table.matrices.map((each: { sb84: [number, number][]; sv32: [number, number][] }) => ({
      ...each,
      denseMs: 1,
      sb84: slow(each.sb84),
      sv32: slow(each.sv32),
    }))
    await writeFile(costs, JSON.stringify({ ...table, restMs: 2, matrices }))
    const asked = [...few, '--costs', costs, '--json'] as const
    // Two layers of four products take 10 ms when dense.
    const { out } = await halfbyte('prune', model, output, ...asked, '--tokens-per-second', '150')
    const { prediction } = JSON.parse(out)
    expect(prediction.denseTokensPerSecond).toBeCloseTo(100, 6)
    expect(prediction.tokensPerSecond).toBeGreaterThanOrEqual(150)
    const far = await halfbyte('prune', model, output, '--force', ...asked, '--tokens-per-second', '501')
    expect(far.err).toMatch(
      /^unsupported: 501 tokens per second leave 2.00 ms .* takes 2.00 ms; choose fewer than 500/,
    )
    await writeFile(costs, '{"version": 2}')
    const old = await halfbyte('prune', model, path('none.hbm'), ...asked, '--speed', '1.2')
    expect(old.err).toMatch(
      /^format: .*costs\.json: its version is 2, but only 1 is supported; write it with halfbyte measure/,
    )
  }, 240_000)

  test('by default drops few weights and keeps 8 bits', async () => {
    const output = path('mild.hbm')
    const { code, out } = await halfbyte('prune', model, output, ...few)
    expect(code).toBe(0)
    const lines = out.split('\n').filter((line) => line.includes('% dropped'))
    expect(lines.length).toBeGreaterThan(7)
    for (const line of lines) expect(line).toMatch(/ w8_g32: (9\.[4-9]|10\.[0-6]) % dropped/)
    expect(out).toMatch(/held-out tokens: perplexity|not compared with the original/)
    const asked = await halfbyte('prune', model, path('asked.hbm'), ...few, '--sparsity', '0.5')
    expect(asked.out).toMatch(/ w4_g32: 50\.0 % dropped/)
  }, 120_000)

  test('a file with fewer bits is stored in the requested precision', async () => {
    const output = path('wide.hbm')
    const flags = [
      '--method',
      'magnitude',
      '--pattern',
      'unstructured',
      '--sparsity',
      '0.1',
      '--weights',
      'w8',
    ] as const
    const { code, err } = await halfbyte('prune', 'embedded', output, ...flags)
    expect([code, err]).toEqual([0, ''])
    expect((await halfbyte('inspect', output)).out).toMatch(/^layers\.0\.attn_q\.weight .*w8_g32/m)
  }, 60_000)

  test('mistakes in the arguments have specific messages', async () => {
    const answers = [
      [['--sparsity', '0.5'], /^unsupported: obs needs a text to calibrate on; give --calibration FILE/],
      [[...few, '--pattern', 'sv32'], /^unsupported: sv32 does not determine how many weights to drop; give/],
      [[...few, '--pattern', 'toString'], /^unsupported: toString is not a pattern; choose unstructured/],
      [
        [...few, '--pattern', '5:4'],
        /^unsupported: 5:4 is not a pattern; choose unstructured, sb84, sv32, or N:M/,
      ],
      [[...few, '--pattern', '2:4', '--sparsity', '0.9'], /^unsupported: 2:4 drops 0.5 of the weights/],
      [
        [...few, '--speed', '2', '--size', '1MB'],
        /^unsupported: 2 budgets were given but only one is possible/,
      ],
      [[...few, '--speed', '2', '--sparsity', '0.5'], /^unsupported: a budget chooses sparsities on a text/],
      [
        [...few, '--sparsity', '0.5', '--costs', 'x.json'],
        /^unsupported: --costs needs a budget; give --speed/,
      ],
      [[...few, '--speed', '2', '--costs', path('x.json')], /^format: the costs .*x\.json cannot be read/],
      [[...few, '--tokens-per-second', '9'], /^unsupported: tokens per second need costs of whole tokens/],
      [
        [...few, '--sparsity', '0.5', '--as', 'safetensors'],
        /^unsupported: safetensors can only hold plain weights, and these are w4; add --weights f32/,
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
