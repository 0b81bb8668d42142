// halfbyte quantize and calibrate. In: the real program on a tiny model. Out: packs, also from resumed runs,
// and the messages for mistakes.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { appears, calibrationText } from '../testing/calibration.ts'
import { ended, folder, GREEDY, halfbyte, MAIN, model, path, start, testModels } from '../testing/program.ts'

testModels()

const { text, few } = calibrationText('calibration.txt')

describe('quantize', () => {
  test("writes a valid pack, and reports each matrix's loss", async () => {
    const solved = path('solved.hbm')
    const rounded = path('rounded.hbm')
    const { code, out } = await halfbyte('quantize', model, solved, ...few, '--weights', 'w4m')
    expect(code).toBe(0)
    expect(out).toMatch(/^layers\.0\.attn_q\.weight \[64,64\] w4m_g32: [\d.]+ % of the rounding error$/m)
    expect(out).toContain(`${solved}: ${(await readFile(solved)).length} bytes, 14 matrices, `)
    expect(out).toMatch(
      /^on 376 held-out tokens: perplexity [\d.]+, original [\d.]+ \([+-][\d.]+ %, .*nats per token\)/m,
    )
    expect(out).toMatch(/divergence 0\.\d+ nats, same first choice \d+\.\d %\n[a-z].* the original/)
    const inspected = (await halfbyte('inspect', solved)).out
    expect(inspected).toMatch(/^layers\.1\.mlp_down\.weight .* -> w4m_g32/m)
    const json = JSON.parse(
      (await halfbyte('quantize', model, rounded, '--method', 'rtn', '--json', '--license', 'MIT')).out,
    )
    expect(json).toMatchObject({ output: rounded, loss: 0, matrices: { length: 14 } })
    expect(json.reason).toMatch(/^there was no held-out text; give --calibration FILE/)
    const converted = path('converted.hbm')
    await halfbyte('convert', model, converted, '--weights', 'w4')
    // `convert` rounds in the same way.
    const tail = async (file: string) => (await readFile(file)).subarray(-30_000)
    expect((await tail(rounded)).equals(await tail(converted))).toBe(true)
    expect((await readdir(folder)).filter((name) => /\.(part|work)$/.test(name))).toEqual([])
  }, 180_000)

  test('resumes after Ctrl-C with the same bytes, and only with --resume', async () => {
    const whole = path('whole.hbm')
    const output = path('stopped.hbm')
    const asked = ['--calibration', text, '--context', '48', '--windows', '12', '--threads', '1'] as const
    expect((await halfbyte('quantize', model, whole, ...asked)).code).toBe(0)
    const child = start('quantize', model, output, ...asked)
    void appears(`${output}.work/rows-1`).then(() => child.kill('SIGINT'))
    expect(await ended(child)).toMatchObject({
      code: 130,
      err: `${output}.work has the finished part; repeat the command with --resume to continue\nstopped\n`,
    })
    expect(existsSync(output)).toBe(false)
    expect(await halfbyte('quantize', model, output, ...asked)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains an unfinished job; add --resume to continue/),
    })
    expect(await halfbyte('quantize', model, output, ...asked, '--resume', '--damp', '0.02')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains a job that differs from this one in settings/),
    })
    expect((await halfbyte('quantize', model, output, ...asked, '--resume')).code).toBe(0)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    expect(existsSync(`${output}.work`)).toBe(false)
  }, 240_000)

  test('stores tables as requested, and reports what it cannot store', async () => {
    const output = path('tables.hbm')
    const asked = [
      'embedded',
      output,
      '--method',
      'rtn',
      '--weights',
      'w8',
      '--table',
      'w4',
      '--head',
      'w4m',
    ] as const
    expect((await halfbyte('quantize', ...asked)).code).toBe(0)
    const inspected = (await halfbyte('inspect', output)).out
    expect(inspected).toMatch(/^embed\.weight .*-> w4_g32/m)
    expect(inspected).toMatch(/^output\.weight .*-> w4m_g32/m)
    expect((await halfbyte('generate', output, '--prompt', 'a', '--max-tokens', '2')).code).toBe(0)
    const folder = ['quantize', path('folder'), path('tables'), '--as', 'gptq', '--method', 'rtn'] as const
    expect(await halfbyte(...folder, '--table', 'w4')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/keeps its tables as they are; omit --table, or write a \.hbm/),
    })
    const mixed = [
      'quantize',
      model,
      output,
      '--weights',
      'mixed',
      '--budget',
      '1MB',
      '--head',
      'w8',
    ] as const
    expect(await halfbyte(...mixed)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/omit --head/),
    })
  }, 60_000)

  test('solves only the table, and explains why nothing else would change', async () => {
    const output = path('kept.hbm')
    const keep = ['--weights', 'keep'] as const
    const { code, out } = await halfbyte('quantize', 'embedded', output, ...keep, '--head', 'w4', ...few)
    expect(code).toBe(0)
    expect(out).toMatch(/^embed\.weight \[6144,288\] w4_g32: [\d.]+ % of the rounding error$/m)
    expect(out).toContain(' bytes, 1 matrices, ')
    const layers = async (file: string) =>
      (await halfbyte('inspect', file)).out.split('\n').filter((line) => line.startsWith('layers.'))
    const own = await layers('embedded')
    expect(own).not.toHaveLength(0)
    expect(await layers(output)).toEqual(own)
    const refused = async (...more: readonly string[]) =>
      (await halfbyte('quantize', model, path('no.hbm'), ...keep, ...more)).err
    expect(await refused('--method', 'rtn')).toMatch(
      /^unsupported: .* nothing else would change; give --table or --head/,
    )
    expect(await refused('--table', 'w4', ...few, '--format', '*=w8')).toMatch(
      /--format gives them new codes; omit it/,
    )
    expect(await refused('--table', 'w4')).toMatch(/gptq needs a text to calibrate on/)
    expect(await refused('--table', 'w4', '--method', 'rtn', '--as', 'gguf')).toMatch(/write a \.hbm/)
    expect((await readdir(folder)).filter((name) => name.startsWith('no.hbm'))).toEqual([])
  })

  test('two formats are evaluated on the same held-out windows, and 8 bits do better', async () => {
    const judged = async (weights: string, ...more: readonly string[]) => {
      const asked = [...few, '--weights', weights, '--json', ...more]
      return JSON.parse((await halfbyte('quantize', model, path(`judged-${weights}.hbm`), ...asked)).out)
    }
    const four = await judged('w4_channel')
    const eight = await judged('w8')
    expect(eight.quality.before).toBe(four.quality.before)
    expect(eight.quality.tokens).toBe(8 * 47)
    expect(four.quality.kl.value).toBeGreaterThan(10 * eight.quality.kl.value)
    expect(eight.quality.kl.value).toBeGreaterThan(0)
    expect(eight.quality.sameTop.value).toBeGreaterThan(four.quality.sameTop.value)
    const without = await judged('w4', '--held-out', '0')
    expect(without).not.toHaveProperty('quality')
    expect(without).not.toHaveProperty('reason')
  }, 120_000)

  test('stores single matrices in other formats, in packs and GGUF', async () => {
    const asked = ['--format', '*.mlp_down.weight=w8', '--format', 'layers.0.attn_q.weight=w8'] as const
    const [pack, gguf] = [path('formats.hbm'), path('formats.gguf')]
    const { code, out } = await halfbyte('quantize', model, pack, ...few, ...asked)
    expect(code).toBe(0)
    expect(out.match(/ w8_g32: /g)).toHaveLength(3)
    expect((await halfbyte('inspect', pack)).out).toMatch(/^layers\.0\.attn_q\.weight .*-> w8_g32/m)
    expect((await halfbyte('quantize', model, gguf, '--method', 'rtn', ...asked)).code).toBe(0)
    expect((await halfbyte('inspect', gguf)).out).toMatch(/^layers\.1\.mlp_down\.weight .*Q8_0/m)
    for (const file of [pack, gguf]) expect((await halfbyte('generate', file, ...GREEDY)).code).toBe(0)
    const mixed = ['--weights', 'mixed', '--budget', '1MB'] as const
    expect(await halfbyte('quantize', model, path('no.hbm'), ...few, ...mixed, ...asked)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/omit --format/),
    })
  }, 60_000)

  test('writes GGUF and GPTQ folders, and reports when a model has the wrong format', async () => {
    const gguf = path('q.gguf')
    const folder = path('q-folder')
    const rtn = ['--method', 'rtn'] as const
    expect((await halfbyte('quantise', model, gguf, ...rtn)).code).toBe(0)
    expect((await halfbyte('inspect', gguf)).out).toMatch(/^layers\.1\.mlp_down\.weight .*Q4_0/m)
    expect((await halfbyte('quantize', path('folder'), folder, ...rtn, '--as', 'gptq')).code).toBe(0)
    expect((await halfbyte('inspect', folder)).out).toMatch(/^layers\.1\.mlp_down\.weight .* -> w4_g32/m)
    expect(await halfbyte('quantize', path('folder'), path('no.gguf'), ...rtn)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: .* is not a GGUF file/),
    })
    expect(existsSync(path('no.gguf'))).toBe(false)
  }, 120_000)

  test('a text takes no more memory than the windows it is used for', async () => {
    const long = path('long.txt')
    await writeFile(long, 'the cat and the hat. '.repeat(2 << 20))
    const short = path('short.txt')
    await writeFile(short, 'the cat and the hat. '.repeat(1 << 10))
    const asked = ['--windows', '2', '--context', '48', '--threads', '1'] as const
    const packs = [long, short].map((text) => path(`of-${text.length}.hbm`))
    for (const [index, text] of [long, short].entries()) {
      // 44 MB of text and its tokens used to take 2.4 GB.
      const args = ['--max-old-space-size=96', MAIN, 'quantize', model, packs[index]!, '--calibration', text]
      expect(await ended(spawn(process.execPath, [...args, ...asked]))).toMatchObject({ code: 0, err: '' })
    }
    expect((await readFile(packs[0]!)).equals(await readFile(packs[1]!))).toBe(true)
    const scored = [MAIN, 'perplexity', model, long, '--chunks', '1', '--context', '48', '--threads', '1']
    expect(await ended(spawn(process.execPath, ['--max-old-space-size=96', ...scored]))).toMatchObject({
      code: 0,
    })
  }, 120_000)

  test("a full disk is reported, and no file is left under the pack's name", async () => {
    const output = path('full.hbm')
    // The limit on file sizes is 16 blocks of 1024 bytes; the first block's rows take more.
    const limited = spawn('bash', [
      '-c',
      'ulimit -f 16; exec "$0" "$@"',
      process.execPath,
      MAIN,
      'quantize',
      model,
      output,
      ...few,
    ])
    expect(await ended(limited)).toMatchObject({ code: 1, err: expect.stringMatching(/^storage-full: /) })
    expect(existsSync(output)).toBe(false)
  })

  test('mistakes in the arguments have specific messages', async () => {
    await writeFile(path('empty.txt'), '')
    await writeFile(path('wrong.jsonl'), '{"text": "a"}\n{"words": "b"}\n')
    const answers = [
      [[], /^unsupported: gptq needs a text to calibrate on; give --calibration FILE/],
      [
        ['--calibration', path('empty.txt')],
        /^format: the calibration text has 0 tokens, but a window takes/,
      ],
      [
        ['--calibration', path('wrong.jsonl')],
        /^format: .*wrong\.jsonl: line 2 is not an object with a text/,
      ],
      [['--calibration', path('none.txt')], /^format: the text file .*none\.txt cannot be read/],
    ] as const
    for (const [args, line] of answers) {
      const { code, err } = await halfbyte('quantize', model, path('no.hbm'), ...args)
      expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(line) })
    }
    expect((await halfbyte('quantize', model, path('no.hbm'), ...few, '--damp', '-1')).code).toBe(2)
    expect((await readdir(folder)).filter((name) => name.startsWith('no.hbm'))).toEqual([])
  }, 180_000)
})

test('calibrate shows statistics of inputs, and writes them as JSON', async () => {
  const asked = ['calibrate', model, text, '--context', '48', '--windows', '3', '--threads', '1'] as const
  const { code, out } = await halfbyte(...asked)
  expect(code).toBe(0)
  expect(out.trimEnd().split('\n')).toHaveLength(8)
  expect(out).toMatch(/^layers\.0\.attn_q \+ attn_k \+ attn_v: 64 inputs in 144 rows, rms [\d.]+, largest/)
  await halfbyte(...asked, '--output', path('stats.json'))
  const [first] = JSON.parse(await readFile(path('stats.json'), 'utf8'))
  expect(first).toMatchObject({
    inputs: 64,
    rows: 144,
    dead: 0,
    means: { length: 64 },
    peaks: { length: 64 },
  })
  expect(first.peak).toBe(Math.max(...first.peaks))
})
