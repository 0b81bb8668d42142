// halfbyte tune. In: the real program, a tiny model, and a program that stands in for Python. Out: the pack
// and its report, and the message for each mistake before any work; test/conformance/tune has the real
// trainer.
import { chmod, copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { appears } from '../testing/calibration.ts'
import { ended, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

const PYTHON = fileURLToPath(new URL('../testing/stand-in-python.mjs', import.meta.url))
const data = path('examples.jsonl')
const tune = (output: string, ...more: readonly string[]) =>
  ['tune', model, data, '--out', path(output), ...SHORT, ...more] as const
const SHORT = ['--method', 'rtn', '--threads', '1', '--samples', '2', '--epochs', '1'] as const

beforeAll(async () => {
  const python = path('python')
  await copyFile(PYTHON, python)
  await chmod(python, 0o755)
  vi.stubEnv('HALFBYTE_PYTHON', python)
  const lines = Array.from(
    { length: 30 },
    (_, at) => `{"prompt": "number ${at}", "completion": " is ${at * at}"}\n`,
  )
  await writeFile(data, lines.join(''))
})

afterEach(() => vi.stubEnv('STAND_IN', ''))

const left = async (name: string) => (await readdir(path('.'))).filter((each) => each.startsWith(name)).sort()

describe.skipIf(process.platform === 'win32')('with a Python', () => {
  test('writes a pack and a page, and says how long it takes before it starts', async () => {
    const { code, out, err } = await halfbyte(...tune('tuned.hbm', '--held-out', '0.2'))
    expect(code).toBe(0)
    expect(err).toMatch(
      /^24 sequences, 3 steps in 1 epoch; about \d+ s in all: 2 s to train, \d+ s to compress and compare$/m,
    )
    expect(out).toMatch(/^\S+tuned\.hbm: \d+ bytes, [\d.]+ s$/m)
    // The weights are unchanged, so the losses are equal.
    const [, after, before] = /loss (\S+) nats per token, base model (\S+)$/m.exec(out) ?? []
    expect(after).toBe(before)
    expect(out).toMatch(/^No better: the loss changed by \+0\.000 nats per token/m)
    expect(await left('tuned')).toEqual(['tuned.hbm', 'tuned.html'])
    const page = await readFile(path('tuned.html'), 'utf8')
    expect(page).toMatch(/<svg .*Loss of the float model during training/)
    expect(page).toMatch(/number \d+<\/pre><\/td><td><pre> is \d+/)
    expect(page).toContain('Python 3.12.1 with torch 2.15.0')
    expect((await halfbyte('inspect', path('tuned.hbm'))).out).toMatch(/layers\.0\.attn_q\.weight .*w4/)
    expect(await halfbyte(...tune('tuned.hbm'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/tuned\.hbm already exists; give another path, or --force/),
    })
  })

  test('a stopped run keeps what is finished, and only --resume continues it', async () => {
    vi.stubEnv('STAND_IN', 'slow')
    const child = start(...tune('stopped.hbm'))
    void appears(path('stopped.hbm.work/checkpoint.pt')).then(() => child.kill('SIGINT'))
    expect(await ended(child)).toMatchObject({
      code: 130,
      err: expect.stringMatching(
        /stopped\.hbm\.work has the finished part; repeat the command with --resume to continue\nstopped\n$/,
      ),
    })
    expect(await readdir(path('stopped.hbm.work'))).toEqual(expect.arrayContaining(['base', 'train.jsonl']))
    expect(await readFile(path('stopped.hbm.work/checkpoint.pt'), 'utf8')).toBe('stopped')
    vi.stubEnv('STAND_IN', '')
    expect(await halfbyte(...tune('stopped.hbm'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains an unfinished job; add --resume/),
    })
    expect(await halfbyte(...tune('stopped.hbm', '--resume', '--rank', '8'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains a job that differs from this one in settings/),
    })
    const { code, out } = await halfbyte(...tune('stopped.hbm', '--resume', '--json'))
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      out: path('stopped.hbm'),
      report: path('stopped.html'),
      verdict: 'unclear',
      examples: 3,
      samples: [{ expected: expect.stringMatching(/^ is \d+$/) }, {}],
    })
    expect(await left('stopped')).toEqual(['stopped.hbm', 'stopped.html'])
  })

  test('after a failed training, its last line is shown with the next step', async () => {
    vi.stubEnv('STAND_IN', 'failing')
    const { code, err } = await halfbyte(...tune('failed.hbm'))
    expect(code).toBe(1)
    expect(err).toMatch(
      /the training failed: RuntimeError: DefaultCPUAllocator: can't allocate memory; check the free memory, .*--resume$/m,
    )
    expect(await left('failed')).toEqual(['failed.hbm.work'])
  })

  test.each([
    ['missing', /\S+python: ModuleNotFoundError: No module named 'torch'/],
    ['old', /\S+python: it is Python 3\.8, and 3\.10 is the oldest that works/],
  ])('a Python whose torch is %s is reported before any work', async (behaviour, reason) => {
    vi.stubEnv('STAND_IN', behaviour)
    const { code, err } = await halfbyte(...tune('none.hbm'))
    expect(code).toBe(1)
    expect(err).toMatch(/^unsupported: training needs Python with torch, and none was found \(/)
    expect(err).toMatch(reason)
    expect(err).toMatch(
      /; run "halfbyte tune --setup", which downloads it \(about 200 MB, 1 GB on disk\), or name/,
    )
    expect(await left('none')).toEqual([])
  })

  test('an example that the template rejects is named by its line', async () => {
    const wrong = path('wrong.jsonl')
    await writeFile(wrong, '{"text": "a"}\n{"text": "b"}\n{"messages": [{"role": "user"}]}\n')
    const { code, err } = await halfbyte('tune', model, wrong, '--out', path('none.hbm'))
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^format: \S+wrong\.jsonl: line 3: /),
    })
    expect(await left('none')).toEqual([])
  })
})

test('without any Python, the message says how to set it up', async () => {
  const { code, err } = await halfbyte(...tune('none.hbm', '--python', path('no-python')))
  expect(code).toBe(1)
  expect(err).toMatch(/no-python: it could not be started \(ENOENT\)\); run "halfbyte tune --setup"/)
  const setup = await halfbyte('tune', '--setup', '--python', path('no-python'))
  expect(setup).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(
      /no-python cannot create an environment \(.*ENOENT.*install Python 3\.10 or newer/,
    ),
  })
})

test('mistakes in the arguments are reported before anything is read', async () => {
  const answers = [
    [['tune'], /a model is missing; give halfbyte tune MODEL data\.jsonl --out pack\.hbm/],
    [['tune', model], /the examples are missing/],
    [['tune', model, data], /--out is missing/],
    [
      ['tune', model, data, '--out', path('a.gguf')],
      /would be a \.hbm pack with the extension of another format/,
    ],
    [['tune', model, data, '--out', path('a.hbm'), '--report', path('a.svg')], /would be an HTML page/],
    [['tune', model, path('no.jsonl'), '--out', path('a.hbm')], /no\.jsonl cannot be read/],
  ] as const
  for (const [args, message] of answers) {
    const { code, err } = await halfbyte(...args)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) })
  }
  expect(await left('a.')).toEqual([])
})
