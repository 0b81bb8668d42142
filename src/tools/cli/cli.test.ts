// The halfbyte command. In: the real program on tiny models, with right and wrong arguments. Out: the
// behaviour that people and scripts rely on.

import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { type Answer, openServer, sendFile } from '../../../test/helpers/http-server.ts'
import { ended, folder, GREEDY, halfbyte, model, path, start, testModels } from './testing/program.ts'

testModels()

const VOCAB = randomLlama({ seed: 1 }).config.vocab_size

/** Serves the test's folder; anything else gets a 404. */
const files: Answer = (request, response, name) => sendFile(request, response, path(name))

describe.concurrent('inspect, tokenize, logits, perplexity and convert', () => {
  test('inspect shows what a model is and what it needs', async () => {
    const { code, out } = await halfbyte('inspect', model, '--context', '128')
    expect(code).toBe(0)
    expect(out).toMatch(/^architecture +llama$/m)
    expect(out).toMatch(/^vocabulary +\d+$/m)
    expect(out).toMatch(/^state .* for 128$/m)
    expect(out).toMatch(/^embed\.weight {2}\[\d+, 64\] {2}F32 -> f32 {2}\d/m)
    expect((await halfbyte('inspect', model, '--plan', '--weights', 'w4')).out).toContain('linear_w4a8_g32')
    const fit = (await halfbyte('inspect', model, '--fit', '--context', '128')).out
    expect(fit).toMatch(/^fits +yes\nneeded +[\d.]+ MB with a context of 128\ngranted /)
    expect(fit).toMatch(/^decode +about \d\S* tokens\/s$/m)
  })

  test('inspect and models print the same as JSON', async () => {
    const facts = JSON.parse((await halfbyte('inspect', model, '--context', '128', '--json')).out)
    expect(facts).toMatchObject({
      architecture: 'llama',
      hiddenSize: 64,
      contextLength: 128,
      isTied: expect.any(Boolean),
    })
    expect(facts.state.contextBytes).toBe(Math.ceil(128 / facts.state.blockTokens) * facts.state.blockBytes)
    expect(facts.tensors[0]).toMatchObject({ names: ['embed.weight'], stored: ['F32'], encoding: 'f32' })
    const fit = JSON.parse((await halfbyte('inspect', model, '--fit', '--context', '128', '--json')).out)
    expect(fit).toMatchObject({ fits: true, contextLength: 128 })
    const list = JSON.parse((await halfbyte('models', '--json')).out)
    expect(list[0]).toMatchObject({ isEmbedded: true, about: expect.any(String) })
    expect(list.at(-1)).toMatchObject({
      isEmbedded: false,
      sizeBytes: expect.any(Number),
      licence: expect.any(String),
    })
    expect((await halfbyte('inspect', model, '--plan', '--json')).code).toBe(2)
  })

  test('tokenize reads a file or stdin', async () => {
    await writeFile(path('ab.txt'), 'ab c\n')
    const ids = JSON.parse((await halfbyte('tokenize', model, '--file', path('ab.txt'), '--json')).out)
    expect(ids.length).toBeGreaterThan(1)
    const { out } = await ended(start('tokenize', model), 'ab c\n')
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
    expect(lines.map(([id]) => Number(id))).toEqual(ids)
    expect(lines.map(([, piece]) => JSON.parse(piece ?? '')).join('')).toBe('ab c\n')
  })

  test('logits are the same in a file and on stdout, and greedy text follows them', async () => {
    const tokens = JSON.parse((await ended(start('tokenize', model, '--json'), 'ab')).out)
    const asked = ['logits', model, '--tokens', tokens.join(',')]
    await halfbyte(...asked, '--output', path('logits.bin'))
    const bytes = await readFile(path('logits.bin'))
    expect(bytes).toHaveLength(tokens.length * VOCAB * 4)
    const child = start(...asked)
    const chunks: Buffer[] = []
    for await (const chunk of child.stdout!) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
    const last = new Float32Array(bytes.buffer, bytes.byteOffset).subarray(-VOCAB)
    const { tokens: said } = JSON.parse((await halfbyte('generate', model, ...GREEDY, '--json')).out)
    expect(last.indexOf(Math.max(...last))).toBe(said[0])
  })

  test('perplexity scores whole windows', async () => {
    await writeFile(path('long.txt'), 'a little text that says a thing or two. '.repeat(20))
    const asked = ['perplexity', model, path('long.txt'), '--context', '32', '--chunks', '3']
    const result = JSON.parse((await halfbyte(...asked, '--json')).out)
    expect(result).toMatchObject({ windows: 3, scored: 3 * 15 })
    expect((await halfbyte(...asked)).out).toContain(`perplexity ${result.perplexity.toFixed(4)} +/- `)
    const stored = JSON.parse((await halfbyte(...asked, '--json', '--kv', 'int8,fp8')).out)
    expect(stored.perplexity).not.toBe(result.perplexity)
    expect(Math.abs(stored.perplexity / result.perplexity - 1)).toBeLessThan(0.05)
  })

  test('convert writes an equivalent pack and no other file', async () => {
    const pack = path('packed.hbm')
    const { code, out } = await halfbyte(
      'convert',
      path('folder'),
      pack,
      '--name',
      'Packed',
      '--license',
      'MIT',
    )
    expect({ code, out }).toEqual({ code: 0, out: `${pack}: ${(await readFile(pack)).length} bytes\n` })
    const texts = await Promise.all(
      [model, path('folder'), pack].map((each) => halfbyte('generate', each, ...GREEDY)),
    )
    for (const { out } of texts) expect(out).toBe(texts[0]?.out)
    expect((await halfbyte('inspect', pack)).out).toMatch(/^name +Packed$/m)
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([])
  })
})

test('convert rejects the extension of another format, and describes matrices on request', async () => {
  const refused = await halfbyte('convert', model, path('other.onnx'))
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/other\.onnx would be a \.hbm pack/) })
  expect(existsSync(path('other.onnx'))).toBe(false)
  const [short, long] = [path('short.hbm'), path('long.hbm')]
  const [brief, verbose] = [
    await halfbyte('convert', 'embedded', short),
    await halfbyte('convert', 'embedded', long, '--verbose'),
  ]
  expect(brief.out).toMatch(/^\S+short\.hbm: \d+ bytes\n$/)
  expect(verbose.out.split('\n').length).toBeGreaterThan(10)
})

test('an output must have the extension of its own format', async () => {
  const asked = [
    [['quantize', '--method', 'rtn'], 'other.safetensors', /would be a \.hbm pack .* end it with \.hbm/],
    [['quantize', '--method', 'rtn', '--as', 'gguf'], 'other.hbm', /would be a GGUF file .* with \.gguf/],
    [['quantize', '--method', 'rtn', '--as', 'gptq'], 'other.hbm', /would be a folder .* omit \.hbm/],
    [['prune', '--method', 'magnitude', '--sparsity', '0.5'], 'other.gguf', /would be a \.hbm pack/],
    [['trim', '--languages', 'en'], 'other.gguf', /would be a \.hbm pack/],
  ] as const
  for (const [[command, ...flags], name, why] of asked) {
    const refused = await halfbyte(command, model, path(name), ...flags)
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(why) })
    expect(existsSync(path(name))).toBe(false)
  }
})

test("an output's folders are created; a folder that cannot be created is reported before any work", async () => {
  const made = await Promise.all([
    halfbyte('convert', model, path('new/deep/whole.hbm')),
    halfbyte('convert', model, path('new/parts/cut.hbm'), '--shard-size', '1MB'),
    halfbyte('quantize', model, path('new/codes/w4.hbm'), '--method', 'rtn'),
  ])
  for (const { code, err } of made) expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(existsSync(path('new/deep/whole.hbm'))).toBe(true)
  const refused = await halfbyte('convert', path('nothing.gguf'), join(model, 'below.hbm'))
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /below\.hbm cannot be written: \S+random\.gguf is not a folder; choose another/,
    ),
  })
})

describe('an existing output', () => {
  test('is replaced only with --force', async () => {
    const pack = path('kept.hbm')
    await writeFile(pack, 'something else')
    const refused = await halfbyte('convert', model, pack)
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/kept.hbm already exists.*--force/) })
    expect(await readFile(pack, 'utf8')).toBe('something else')
    expect(await halfbyte('convert', model, pack, '--force')).toMatchObject({ code: 0, err: '' })
  })

  test.each([
    ['its file', () => model, () => model],
    ['its folder', () => path('folder'), () => path('folder')],
    ['a file in its folder', () => path('folder'), () => join(path('folder'), 'model.safetensors')],
  ])('that is the input model, by %s, is never replaced', async (_, read, output) => {
    const before = await readFile(model)
    const commands = [
      ['convert'],
      ['quantize', '--method', 'rtn'],
      ['prune', '--method', 'magnitude', '--sparsity', '0.5'],
    ]
    for (const [command = '', ...flags] of commands)
      expect(await halfbyte(command, read(), output(), '--force', ...flags)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/is the input model, which writing would destroy/),
      })
    expect((await readFile(model)).equals(before)).toBe(true)
  })
})

test('a chat template is read from a file, and one that cannot be read is rejected', async () => {
  const run = async (name: string, text: string | undefined) => {
    if (text !== undefined) await writeFile(path(name), text)
    // Threads left running by a failed load would keep the command from exiting.
    const asked = [...GREEDY, '--threads', '2', '--chat-template', path(name)]
    const { code, err } = await halfbyte('generate', model, ...asked)
    return { code, err }
  }
  expect(await run('good.jinja', '{{ messages[0].content }}')).toMatchObject({ code: 0 })
  expect(await run('bad.jinja', '{% if %}')).toEqual({
    code: 1,
    err: expect.stringMatching(
      /^note: --chat-template is ignored with --raw\nformat: the chat template cannot be read/,
    ),
  })
  expect(await run('absent.jinja', undefined)).toMatchObject({
    code: 1,
    err: expect.stringContaining('absent.jinja'),
  })
})

test('variables of the chat template are JSON or text, several at once', async () => {
  await writeFile(path('moods.jinja'), '{{ messages[0].content }}{{ mood }}{% if calm %}calm{% endif %}')
  const tokens = async (...given: string[]) => {
    const variables = given.flatMap((each) => ['--template-argument', each])
    const asked = ['--prompt', 'ab', '--max-tokens', '1', '--json', '--chat-template', path('moods.jinja')]
    const run = await halfbyte('generate', model, ...asked, ...variables)
    return run.code === 0 ? JSON.parse(run.out).promptTokens : run.err
  }
  const none = await tokens()
  expect(await tokens('calm=false', 'other=x')).toBe(none)
  const mood = await tokens('mood=a=b')
  expect(mood).toBeGreaterThan(none)
  expect(await tokens('mood=a=b', 'calm=true')).toBeGreaterThan(mood)
  expect(await tokens('mood')).toContain('give a name and a value')
  const raw = await halfbyte('generate', model, ...GREEDY, '--template-argument', 'calm=true')
  expect(raw.err).toMatch(/^unsupported: templateArguments only work with a chat template/)
  expect(await tokens('messages=[]')).toMatch(/^unsupported: templateArguments has "messages"/)
})

test('a state budget smaller than one block is rejected with both numbers', async () => {
  const run = (command: string, ...rest: string[]) =>
    halfbyte(command, model, ...rest, '--state-bytes', '1KB')
  const runs = await Promise.all([run('generate', ...GREEDY), run('logits', '--tokens', '1,2')])
  for (const { code, err } of runs) {
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^out-of-memory: stateBytes is 1000 but/),
    })
  }
})

describe.concurrent('convert in parts', () => {
  test('writes a pack that can be opened by any of its files', async () => {
    const whole = path('big.hbm')
    const parts = path('cut.hbm')
    await halfbyte('convert', 'embedded', whole, '--sparse', 'none')
    const { code, out } = await halfbyte(
      'convert',
      'embedded',
      parts,
      '--sparse',
      'none',
      '--shard-size',
      '3MB',
    )
    const names = ['cut-00001-of-00002.hbm', 'cut-00002-of-00002.hbm'].map(path)
    const files = await Promise.all(names.map((name) => readFile(name)))
    expect(Buffer.concat(files)).toEqual(await readFile(whole))
    expect({ code, out }).toEqual({
      code: 0,
      out: `${names[0]}: ${files[0]!.length + files[1]!.length} bytes in 2 files\n`,
    })
    expect((await halfbyte('inspect', names[1]!)).out).toMatch(/^format +hbm$/m)
    await rm(names[1]!)
    expect((await halfbyte('inspect', names[0]!)).err).toMatch(/^format: .*cut-00002-of-00002\.hbm/)
  })

  test.each(['12', '100KB', '1.5XB', 'MB', ''])('a size of "%s" is a usage error', async (size) => {
    const { code, err } = await halfbyte('convert', model, path('no.hbm'), '--shard-size', size)
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('give a size of 1000000 bytes or more'),
    })
  })
})

describe.concurrent('a mistake', () => {
  const usage: readonly (readonly string[])[] = [
    [],
    ['conjure'],
    ['generate'],
    ['generate', 'embedded'],
    ['generate', 'embedded', '--prompt', 'x', '--colour', 'red'],
    ['generate', 'embedded', '--prompt', 'x', '--top-k', 'many'],
    ['generate', 'embedded', '--prompt', 'x', '--bias', '5'],
    ['generate', 'embedded', '--prompt', 'x', '--threads', '0'],
    ['generate', 'embedded', '--prompt', 'x', '--build', 'avx'],
    ['generate', 'embedded', '--prompt', 'x', '--kv', 'fp8'],
    ['logits', 'embedded'],
    ['logits', 'embedded', '--tokens', '1,,2'],
    ['perplexity', 'embedded'],
    ['inspect', 'embedded', 'another'],
  ]

  test('in the usage exits with 2 and suggests what to do', async () => {
    const runs = await Promise.all(usage.map((args) => halfbyte(...args)))
    for (const { code, out, err } of runs) {
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(/--help/)
    }
  })

  test("in an option's value prints one sentence with the expected value", async () => {
    const { code, err } = await halfbyte('generate', 'embedded', '--threads', '0')
    expect(code).toBe(2)
    expect(err).toMatch(/argument '0' is invalid; give a whole number from 1 to 32\.\n/)
  })

  test("in an option's name is reported with the closest option", async () => {
    const { code, err } = await halfbyte('generate', 'embedded', '--promt', 'x')
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(/'--promt'\n?.*--prompt\?/) })
  })

  test("in a model's name is reported with the closest model", async () => {
    const typed = ['smolm2-360m', 'embeded', 'nothing-like-it']
    const [small, embedded, other] = await Promise.all(typed.map((name) => halfbyte('inspect', name)))
    expect(small?.err).toMatch(/^format: there is no file or folder smolm2-360m; did you mean smollm2-360m\?/)
    expect(embedded?.err).toMatch(/did you mean embedded\?/)
    expect(other?.err).not.toMatch(/did you mean/)
  })

  test('help is not an error', async () => {
    const { code, out } = await halfbyte('generate', '--help')
    expect(code).toBe(0)
    for (const flag of ['--prompt', '--top-k', '--seed', '--threads', '--build', '--raw', '--json']) {
      expect(out).toContain(flag)
    }
  })

  test('the list of commands has one line each that fits a narrow terminal', async () => {
    const { out } = await halfbyte('--help')
    const [, list = ''] = out.split('Commands:\n')
    const lines = list.trimEnd().split('\n')
    expect(lines.filter((line) => /^ {2}\w/.test(line)).length).toBeGreaterThan(20)
    for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
  })

  test('with a file or folder exits with 1 and prints one line: a code and a sentence', async () => {
    await writeFile(path('half.gguf'), await readFile(model))
    await truncate(path('half.gguf'), 60_000)
    await writeFile(path('part-00001-of-00002.gguf'), '')
    await mkdir(path('empty'))
    const runs = await Promise.all([
      halfbyte('inspect', path('nothing.gguf')),
      halfbyte('inspect', join(model, 'below')),
      halfbyte('inspect', path('empty')),
      halfbyte('generate', path('half.gguf'), '--prompt', 'x'),
      halfbyte('inspect', path('part-00001-of-00002.gguf')),
      halfbyte('logits', model, '--tokens', '1,999999'),
      halfbyte('perplexity', model, path('nothing.txt')),
      halfbyte('tokenize', model, '--file', folder),
    ])
    for (const { code, out, err } of runs) {
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^format: [^\n]+\n$/)
    }
  })

  test('with the output path is not reported as a full disk, and leaves no partial file', async () => {
    const asked = ['logits', model, '--tokens', '1,2', '--output']
    const [missing, full] = await Promise.all([
      halfbyte(...asked, path('no/where')),
      existsSync('/dev/full') ? halfbyte(...asked, '/dev/full') : undefined,
    ])
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: [^\n]*no is not a folder; [^\n]*\n$/),
    })
    if (full !== undefined) {
      expect(full).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^storage-full: [^\n]*ENOSPC[^\n]*\n$/),
      })
    }
  })
})

describe('addresses', () => {
  test('of a file and of a folder work like the files themselves; a missing file is a network error', async () => {
    const { address, close } = await openServer(files)
    try {
      const [local, file, remote, missing] = await Promise.all(
        [model, `${address}${basename(model)}`, `${address}folder/`, `${address}nothing.gguf`].map((each) =>
          halfbyte('generate', each, ...GREEDY),
        ),
      )
      expect(file).toEqual(local)
      expect(remote).toEqual(local)
      expect(missing).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(/^network: [^\n]*404[^\n]*\n$/),
      })
    } finally {
      await close()
    }
  })

  test('that cannot be reached are reported with the reason', async () => {
    const { address, close } = await openServer(files)
    await close()
    // Like browsers, Node blocks the first port.
    const places = [`${address}x.gguf`, 'http://nowhere.invalid/x.gguf', 'http://127.0.0.1:1/x.gguf']
    const [refused, unknown, forbidden] = await Promise.all(places.map((each) => halfbyte('inspect', each)))
    expect(refused?.err).toMatch(/^network: http\S+x\.gguf could not be fetched: .*\(ECONNREFUSED\); check/)
    expect(unknown?.err).toMatch(/^network: .*the name nowhere\.invalid is not known here \(E\w+\); check/)
    expect(forbidden?.err).toMatch(/^network: http\S+:1\/x\.gguf could not be fetched: .*\(bad port\); check/)
    expect(`${refused?.err}${unknown?.err}`).not.toMatch(/CORS/)
  })

  test('whose answer never ends are abandoned on Ctrl-C', async () => {
    let asked = () => {}
    const request = new Promise<void>((resolve) => {
      asked = resolve
    })
    const { address, close } = await openServer((_, response) => {
      response.writeHead(200, { 'content-length': 1e6 }).write('GGUF')
      asked()
    })
    try {
      const child = start('generate', `${address}slow.gguf`, '--prompt', 'x')
      const end = ended(child)
      await request
      child.kill('SIGINT')
      expect(await end).toEqual({ code: 130, out: '', err: 'stopped\n' })
    } finally {
      await close()
    }
  })
})
