// The halfbyte command. In: the real program on tiny models that this file writes. Out: what people and scripts rely on.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../conformance/support/model-files.ts'
import { randomLlama } from '../../conformance/support/random-llama.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const VOCAB = randomLlama({ seed: 1 }).config.vocab_size

let folder: string
let model: string
const path = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-cli-'))
  model = path('random.gguf')
  const speaker = randomLlama({ seed: 5, gain: 1.6, speaks: true, contextLength: 16_384 })
  await writeFile(model, await (await ggufFile(speaker)).bytes())
  await mkdir(path('folder'))
  for (const file of safetensorsFiles(speaker))
    await writeFile(join(path('folder'), file.name), await file.bytes())
})

afterAll(() => rm(folder, { recursive: true }))

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
}

async function ended(child: ChildProcess, input = ''): Promise<Ended> {
  child.stdin?.end(input)
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout!), text(child.stderr!), exit])
  return { code, out, err }
}

const halfbyte = (...args: string[]) => ended(start(...args))

async function listening(listener: RequestListener): Promise<{ server: Server; address: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** Serves the test's folder; 404 for the rest. */
const files: RequestListener = async (request, response) => {
  const name = path(decodeURIComponent(request.url ?? '/'))
  if (!existsSync(name)) return void response.writeHead(404).end()
  response.end(await readFile(name))
}

const GREEDY = ['--raw', '--prompt', 'ab', '--temperature', '0', '--max-tokens', '12']

describe.concurrent('generate', () => {
  test('prints one JSON object with what it promises, the same on one thread and on two', async () => {
    const runs = await Promise.all(
      ['1', '2'].map((threads) => halfbyte('generate', model, ...GREEDY, '--threads', threads, '--json')),
    )
    const [one, two] = runs.map(({ code, out, err }) => {
      expect({ code, err }).toEqual({ code: 0, err: '' })
      return JSON.parse(out)
    })
    expect(Object.keys(one)).toEqual([
      'promptTokens',
      'tokens',
      'text',
      'finishReason',
      'timings',
      'memoryBytes',
    ])
    expect(Object.keys(one.timings)).toEqual([
      'loadMs',
      'prefillMs',
      'decodeMs',
      'prefillTokensPerSecond',
      'decodeTokensPerSecond',
    ])
    for (const value of Object.values(one.timings)) expect(value).toBeGreaterThan(0)
    expect(one.tokens).toHaveLength(12)
    expect(one.finishReason).toBe('length')
    expect(one.memoryBytes).toBeGreaterThan(1e6)
    expect([two.text, two.tokens]).toEqual([one.text, one.tokens])
  })

  test('prints the same text without --json, on either build', async () => {
    const asked = [[], ['--build', 'simd128'], ['--build', 'relaxed', '--threads', 'auto']]
    const runs = await Promise.all(asked.map((flags) => halfbyte('generate', model, ...GREEDY, ...flags)))
    expect(runs[0]?.out).toMatch(/^[a-z ]{3,}\n$/)
    for (const run of runs) expect(run).toEqual({ code: 0, out: runs[0]?.out, err: '' })
  })

  test('hands every sampler flag and stop text on', async () => {
    const sampler =
      '--temperature 1.3 --top-k 9 --top-p 0.9 --min-p 0.01 --tfs-z 0.99 --typical-p 0.98 --repeat-penalty 1.1 ' +
      '--repeat-last-n 8 --frequency-penalty 0.1 --presence-penalty 0.1 --max-tokens 24 --context 200 ' +
      '--dry-multiplier 0.1 --dry-base 1.1 --dry-allowed-length 4 --dry-last-n 50 --dry-breaker x --top-n-sigma 9 ' +
      '--xtc-probability 0.1 --xtc-threshold 0.4'
    const run = (...flags: string[]) =>
      halfbyte('generate', model, '--raw', '--prompt', 'ab', ...sampler.split(' '), '--json', ...flags)
    const [first, again, other] = await Promise.all([
      run('--seed', '7'),
      run('--seed', '7'),
      run('--seed', '8'),
    ])
    const { text, tokens } = JSON.parse(first.out)
    expect(JSON.parse(again.out).tokens).toEqual(tokens)
    expect(JSON.parse(other.out).tokens).not.toEqual(tokens)
    const stopped = JSON.parse((await run('--seed', '7', '--stop', 'ZZ', '--stop', text.slice(3, 6))).out)
    expect(stopped).toMatchObject({
      finishReason: 'stop',
      text: text.slice(0, text.indexOf(text.slice(3, 6))),
    })
  })

  test('forces, bans and biases tokens, and reports log-probabilities', async () => {
    const asked = [
      'generate',
      model,
      '--raw',
      '--prompt',
      'ab',
      '--temperature',
      '0',
      '--max-tokens',
      '4',
      '--json',
    ]
    const run = async (...flags: string[]) => JSON.parse((await halfbyte(...asked, ...flags)).out)
    const plain = await run('--logprobs', '1')
    const [first, second, third] = plain.tokens
    expect(plain.logprobs.map((one: { id: number }) => one.id)).toEqual(plain.tokens)
    expect(plain.logprobs[0].top).toHaveLength(1)
    const moved = await run(
      '--force',
      `${third}`,
      '--ban',
      `${second}`,
      '--bias',
      `${first}=-inf`,
      '--bias',
      '70=1e6',
    )
    expect(moved.tokens).toEqual([third, 70, 70, 70])
  })

  test('runs a processor from a file', async () => {
    await writeFile(
      path('only.js'),
      'export default () => (logits) => { logits.fill(-Infinity, 0, 70); logits[70] = 99 }',
    )
    const asked = ['generate', model, '--raw', '--prompt', 'ab', '--max-tokens', '3', '--json']
    const { out } = await halfbyte(...asked, '--processor', path('only.js'))
    expect(JSON.parse(out).tokens).toEqual([70, 70, 70])
    const { code, err } = await halfbyte(...asked, '--processor', path('none.js'))
    expect(code).toBe(1)
    expect(err).toMatch(/^network: the logit processor file:.*none\.js cannot be imported/)
  })

  test('uses the chat template unless told not to', async () => {
    const asked = ['generate', model, '--prompt', 'ab', '--max-tokens', '2', '--json']
    const [chat, raw] = await Promise.all([halfbyte(...asked), halfbyte(...asked, '--raw')])
    expect(JSON.parse(chat.out).promptTokens).toBeGreaterThan(JSON.parse(raw.out).promptTokens)
  })

  test('ends quietly when nobody reads on', async () => {
    const child = start(
      'generate',
      model,
      '--raw',
      '--prompt',
      'ab',
      '--max-tokens',
      '16000',
      '--temperature',
      '0',
    )
    child.stdout?.once('data', () => child.stdout?.destroy())
    const err = await text(child.stderr!)
    expect(err).toBe('')
    expect(child.exitCode ?? (await new Promise((resolve) => child.on('exit', resolve)))).toBe(0)
  })

  test('stops at Ctrl-C', async () => {
    const child = start(
      'generate',
      model,
      '--raw',
      '--prompt',
      'ab',
      '--max-tokens',
      '16000',
      '--temperature',
      '0',
    )
    child.stdout?.once('data', () => child.kill('SIGINT'))
    expect(await ended(child)).toMatchObject({ code: 130, err: 'stopped\n' })
  })
})

describe.concurrent('chat', () => {
  test('answers piped lines one after the other, and nothing else', async () => {
    const child = start('chat', model, '--max-tokens', '3', '--temperature', '0', '--system', 'be kind')
    const { code, out, err } = await ended(child, 'ab\n\ncd')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^[a-z ]+\n[a-z ]+\n$/)
  })

  test.skipIf(!existsSync('/usr/bin/script'))(
    'in a terminal, Ctrl-C stops the answer, twice leaves',
    async () => {
      const command = [process.execPath, MAIN, 'chat', model, '--temperature', '0', '--context', '16384']
      const child = spawn('script', ['-qec', command.join(' '), '/dev/null'], {
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      let seen = ''
      const shows = (pattern: RegExp) =>
        new Promise<void>((resolve) => {
          child.stdout.on('data', (bytes) => {
            seen += bytes
            if (!pattern.test(seen)) return
            child.stdout.removeAllListeners('data')
            seen = ''
            resolve()
          })
        })
      await shows(/> /)
      child.stdin.write('ab\r')
      await shows(/ab\s+[a-z ]{20}/)
      child.stdin.write('\x03')
      await shows(/\[cancelled, .*> /s)
      child.stdin.write('\x03')
      expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0)
    },
  )
})

describe.concurrent('inspect, tokenize, logits, perplexity and convert', () => {
  test('inspect tells what a model is and what it takes', async () => {
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

  test('convert writes a pack that says the same, and leaves nothing else behind', async () => {
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

describe.concurrent('what goes wrong', () => {
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

  test('in the usage exits with 2 and says how to go on', async () => {
    const runs = await Promise.all(usage.map((args) => halfbyte(...args)))
    for (const { code, out, err } of runs) {
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(/--help/)
    }
  })

  test('help is no error', async () => {
    const { code, out } = await halfbyte('generate', '--help')
    expect(code).toBe(0)
    for (const flag of ['--prompt', '--top-k', '--seed', '--threads', '--build', '--raw', '--json']) {
      expect(out).toContain(flag)
    }
  })

  test('with a file or folder exits with 1 and one line of code and sentence', async () => {
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

  test('with a place to write is told apart from a full disk, and nothing half-written stays', async () => {
    const asked = ['logits', model, '--tokens', '1,2', '--output']
    const [missing, full] = await Promise.all([
      halfbyte(...asked, path('no/where')),
      existsSync('/dev/full') ? halfbyte(...asked, '/dev/full') : undefined,
    ])
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: [^\n]*ENOENT[^\n]*\n$/),
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
  test('of a file and of a folder work like the files; what is not there is a network error', async () => {
    const { server, address } = await listening(files)
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
      server.close()
    }
  })

  test('that never end are left at Ctrl-C', async () => {
    let asked = () => {}
    const request = new Promise<void>((resolve) => {
      asked = resolve
    })
    const { server, address } = await listening((_, response) => {
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
      server.closeAllConnections()
      server.close()
    }
  })
})
