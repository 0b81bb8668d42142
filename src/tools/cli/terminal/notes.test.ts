// Notes. In: typed options and results. Out: which options had no effect, and what did not fit.
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { newProgram } from '../program.ts'
import { contextNote, ignoredOptions, needs, unused } from './notes.ts'

/** What a command of the real program prints to stderr before it would start to work. */
async function notesOf(name: string, ...typed: readonly string[]): Promise<string[]> {
  const command = newProgram().commands.find((each) => each.name() === name)
  if (command === undefined) throw new Error(`there is no command ${name}`)
  const said: string[] = []
  const { write } = process.stderr
  process.stderr.write = (text) => said.push(`${text}`.trimEnd()) > 0
  try {
    await command.action(() => undefined).parseAsync([...typed], { from: 'user' })
  } finally {
    process.stderr.write = write
  }
  return said
}

test.each([
  ['generate', ['m', 'p', '--logprobs', '2'], ['--logprobs is ignored without --json']],
  ['generate', ['m', 'p', '--logprobs', '2', '--json'], []],
  ['generate', ['m', 'p', '--compact'], ['--compact is ignored without --schema']],
  ['generate', ['m', 'p', '--raw', '--system', 'x'], ['--system is ignored with --raw']],
  ['generate', ['m', 'p', '--raw', '--chat-template', 'f'], ['--chat-template is ignored with --raw']],
  ['chat', ['m', '--negative', 'x'], ['--negative is ignored without --cfg-scale']],
  ['chat', ['m', '--dry-breaker', 'x'], ['--dry-breaker is ignored without --dry-multiplier']],
  ['chat', ['m', '--xtc-threshold', '0.1'], ['--xtc-threshold is ignored without --xtc-probability']],
  ['chat', ['m', '--mirostat-lr', '0.1', '--mirostat', '2'], []],
  ['inspect', ['m', '--size', 'batch=1'], ['--size is ignored without --plan']],
  ['inspect', ['m', '--plan', '--fit'], ['--fit is ignored with --plan']],
  ['quantize', ['m', 'o', '--method', 'rtn', '--drift', '0'], ['--drift is ignored with --method rtn']],
  ['quantize', ['m', 'o', '--windows', '3'], ['--windows is ignored without --calibration']],
  [
    'prune',
    ['m', 'o', '--method', 'magnitude', '--held-out', '3'],
    ['--held-out is ignored without --calibration'],
  ],
] as const)('%s %j', async (name, typed, said) => {
  expect(await notesOf(name, ...typed)).toEqual(said.map((line) => `note: ${line}`))
})

test('defaults have no notes, and a rule names an option that exists', () => {
  const command = new Command('x').option('--a <n>', '', '1').option('--b', '').parse([], { from: 'user' })
  expect(ignoredOptions(command, [needs('a', '--b'), unused('b', '--a', '1')])).toEqual([])
  expect(() => ignoredOptions(command, [needs('c', '--a')])).toThrow('x has no option c')
})

test('what did not fit in the context is named with its numbers', () => {
  const usage = (droppedTokens: number, completionTokens: number) =>
    ({ droppedTokens, completionTokens }) as Parameters<typeof contextNote>[0]['usage']
  const ended = (finishReason: 'stop' | 'length', dropped: number, made: number, most?: number) =>
    contextNote({ finishReason, usage: usage(dropped, made) }, 64, most)
  expect(ended('stop', 0, 5)).toBeUndefined()
  expect(ended('length', 0, 5, 5)).toBeUndefined()
  expect(ended('length', 0, 5, 9)).toMatch(/the context of 64 tokens is full; raise --context/)
  expect(ended('stop', 7, 5)).toMatch(/holds 64 tokens, so the oldest 7 were dropped/)
})
