// Visible text. In: names, errors and replies with escape sequences. Out: text without any sequence that a
// terminal would execute.
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { ended, halfbyte, model, path, start, testModels } from '../testing/program.ts'
import { dimmed, errorLine, visible, visibleLine } from './failure.ts'

testModels()

test('text is dimmed unless NO_COLOR is set or the terminal is dumb', () => {
  expect(dimmed('thought', { TERM: 'xterm', NO_COLOR: '' })).toBe('\x1b[2mthought\x1b[22m')
  expect(dimmed('thought', { TERM: 'xterm', NO_COLOR: '1' })).toBe('thought')
  expect(dimmed('thought', { TERM: 'dumb' })).toBe('thought')
})

test('control and direction characters are escaped, line breaks and tabs stay', () => {
  expect(visible('a\tb\nc\x1b[2J\x9b2J\r\x7f\u202edcba')).toBe(
    'a\tb\nc\\u001b[2J\\u009b2J\\u000d\\u007f\\u202edcba',
  )
  expect(visibleLine('a\nname  b')).toBe('a\\nname  b')
  const value = { text: '\x1b\x9b\x7f\u202e é 😀' }
  expect(JSON.parse(visible(JSON.stringify(value)))).toEqual(value)
  expect(errorLine(new HalfbyteError('format', 'x\x1b[31m\ny'))).toBe('format: x\\u001b[31m y')
})

test('a name in a file cannot send sequences to the terminal', async () => {
  const bytes = Buffer.from(await (await ggufFile(randomLlama({ seed: 5 }))).bytes())
  bytes.write('\x1b[2J\n!', bytes.indexOf('random'))
  const name = path('\x1b]0;owned\x07\nfile')
  await writeFile(`${name}.gguf`, bytes)
  const { out } = await halfbyte('inspect', `${name}.gguf`)
  expect(out).toMatch(/^name +\\u001b\[2J\\n!$/m)
  const { err } = await halfbyte('inspect', `${name}-none.gguf`)
  expect(err).toContain('\\u001b]0;owned\\u0007 file-none.gguf')
  const { out: tokens } = await ended(start('tokenize', model), 'a\x1b\x9b\x7f')
  for (const page of [out, err, tokens]) expect(page).not.toMatch(/[^\P{Cc}\n\t]/u)
})
