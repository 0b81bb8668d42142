// halfbyte generate and chat. In: the real program on a tiny model. Out: replies as people and scripts rely
// on them.
import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { TRIALS } from '../../../core/generate/sampler/testing/brute-force.ts'
import { flagOf } from '../sampler-flags.ts'
import { ended, GREEDY, halfbyte, model, path, start, testModels } from '../testing/program.ts'
import { hasTerminal, startInTerminal } from '../testing/terminal.ts'

testModels()

/** A reply far too long to wait for. */
const startEndless = () =>
  start('generate', model, '--raw', '--prompt', 'ab', '--max-tokens', '16000', '--temperature', '0')

describe.concurrent('generate', () => {
  test('reads a prompt from stdin', async () => {
    const options = ['--raw', '--temperature', '0', '--max-tokens', '12']
    const piped = await ended(start('generate', model, ...options, '--prompt', '-'), 'ab')
    const given = await halfbyte('generate', model, ...options, '--prompt', 'ab')
    expect(piped).toEqual(given)
    expect(given).toMatchObject({ code: 0, out: expect.stringMatching(/\S/) })
    expect(await halfbyte('generate', model, 'ab', ...options)).toEqual(given)
    expect(await ended(start('generate', model, '-', ...options), 'ab')).toEqual(given)
  })

  test('requires exactly one prompt', async () => {
    const [none, two] = await Promise.all([
      halfbyte('generate', model),
      halfbyte('generate', model, 'ab', '--prompt', 'ab'),
    ])
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining("missing argument 'prompt'") })
    expect(two).toMatchObject({ code: 2, err: expect.stringContaining('there are two prompts') })
  })

  test('prints one JSON object with the documented fields, the same on one thread and on two', async () => {
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

  test('prints the same text without --json, in either build', async () => {
    const asked = [[], ['--build', 'simd128'], ['--build', 'relaxed', '--threads', 'auto']]
    const runs = await Promise.all(asked.map((flags) => halfbyte('generate', model, ...GREEDY, ...flags)))
    expect(runs[0]?.out).toMatch(/^[a-z ]{3,}\n$/)
    for (const run of runs) expect(run).toEqual({ code: 0, out: runs[0]?.out, err: '' })
  })

  test('passes every sampler flag and stop text to the engine', async () => {
    const numbers = Object.entries(TRIALS).map(([name, value]) => `${flagOf(name)} ${value}`)
    const sampler = `${numbers.join(' ')} --max-tokens 24 --context 200 --dry-breaker x`
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

  test('reports what is missing from an answer if the context is full, and follows a system text', async () => {
    const asked = ['generate', model, 'ab', '--temperature', '0', '--context', '32', '--max-tokens', '999']
    const [short, steered] = await Promise.all([
      halfbyte(...asked),
      halfbyte(...asked.slice(0, 5), '--max-tokens', '2', '--json', '--system', 'be kind'),
    ])
    expect(short).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^note: the answer ends because the context of 32 tokens is full; raise/m),
    })
    const plain = await halfbyte(...asked.slice(0, 5), '--max-tokens', '2', '--json')
    expect(JSON.parse(steered.out).promptTokens).toBeGreaterThan(JSON.parse(plain.out).promptTokens)
  })

  test('exits quietly if the reader closes the pipe', async () => {
    const child = startEndless()
    child.stdout?.once('data', () => child.stdout?.destroy())
    const err = await text(child.stderr!)
    expect(err).toBe('')
    expect(child.exitCode ?? (await new Promise((resolve) => child.on('exit', resolve)))).toBe(0)
  })

  test('stops on Ctrl-C', async () => {
    const child = startEndless()
    child.stdout?.once('data', () => child.kill('SIGINT'))
    expect(await ended(child)).toMatchObject({ code: 130, err: 'stopped\n' })
  })
})

describe('chat', () => {
  test('answers piped lines one by one, and prints nothing else', async () => {
    const child = start('chat', model, '--max-tokens', '3', '--temperature', '0', '--system', 'be kind')
    const { code, out, err } = await ended(child, 'ab\n\ncd')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^[a-z ]+\n[a-z ]+\n$/)
  })

  test('runs piped commands without sending them to the model', async () => {
    const child = start('chat', model, '--max-tokens', '3', '--temperature', '0')
    const { code, out, err } = await ended(child, '/system be kind\nab\n/retry\n/nosuch\n/stats\n')
    expect(code).toBe(0)
    expect(out).toMatch(/^([a-z ]+)\n\1\n$/)
    expect(err).toMatch(/^system prompt replaced\nthere is no command \/nosuch; .*\ncontext: \d+ of/)
  })

  test.skipIf(!hasTerminal)(
    'in a terminal, Ctrl-C stops the answer, and pressing it twice exits',
    async () => {
      const { keys, until, ended } = inTerminal({ TERM: 'xterm' })
      await until(/> /)
      keys('ab\r')
      await until(/ab\s+[a-z ]{20}/)
      keys('\x03')
      await until(/\[cancelled, .*> /s)
      keys('\x03')
      expect(await ended).toBe(0)
      expect(await readFile(path('state/halfbyte/chat-history'), 'utf8')).toBe('ab\n')
    },
  )

  test.skipIf(!hasTerminal)('a pasted text is one message, and the last run can be recalled', async () => {
    const { keys, until, ended } = inTerminal(
      { TERM: 'xterm', XDG_STATE_HOME: path('other-state') },
      '--max-tokens',
      '2',
    )
    await until(/> /)
    keys('\x1b[200~ab\rcd\x1b[201~\r')
    await until(/\[length, .*> /s)
    keys(`/save ${path('pasted.json')}\r`)
    await until(/2 messages are in/)
    const [asked] = JSON.parse(await readFile(path('pasted.json'), 'utf8')).messages
    expect(asked).toEqual({ role: 'user', content: 'ab\ncd' })
    keys('\x04')
    await ended
    const again = inTerminal({ TERM: 'xterm', XDG_STATE_HOME: path('other-state') })
    await again.until(/> /)
    again.keys('\x1b[A')
    await again.until(/\/save .*pasted\.json/)
    again.keys('\x15\x04')
    await again.ended
  })

  test.skipIf(!hasTerminal)(
    'a plain terminal gets no moving lines, and a dumb one no escape sequence at all',
    async () => {
      for (const env of [
        { TERM: 'dumb', NO_COLOR: '' },
        { TERM: 'xterm', NO_COLOR: '1' },
      ]) {
        const terminal = inTerminal(env, '--max-tokens', '2', '--no-history')
        await terminal.until(/> /)
        terminal.keys('ab\r')
        await terminal.until(/\[length, .*> /s)
        terminal.keys('\x04')
        await terminal.ended
        const page = terminal.raw
        expect(page).not.toContain('\x1b[K')
        expect(page).not.toContain('\x1b[2m')
        if (env.TERM === 'dumb') expect(page).not.toContain('\x1b')
      }
    },
  )
})

/** `halfbyte chat` in a terminal, with its history in the test's folder. */
const inTerminal = (env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
  startInTerminal(['chat', model, '--temperature', '0', '--context', '16384', ...flags], {
    XDG_STATE_HOME: path('state'),
    ...env,
  })
