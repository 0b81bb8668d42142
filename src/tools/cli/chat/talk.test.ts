// The chat in a terminal. In: keys. Out: what is shown, and the conversation that /save writes.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasTerminal, startInTerminal, type TerminalRun } from '../testing/terminal.ts'

if (!hasTerminal) console.warn('skipped: the script command of util-linux is not installed')

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-talk-'))
})
afterEach(() => rm(folder, { recursive: true }))

const PROMPT = /> $/
const ANSWERED = /tokens\/s[^\]]*\]\n> /

async function start(env: NodeJS.ProcessEnv = {}): Promise<TerminalRun> {
  const args = ['chat', 'embedded', '--temperature', '0', '--threads', '1']
  const run = startInTerminal(args, { XDG_STATE_HOME: folder, ...env })
  await run.until(PROMPT)
  return run
}

/** Types a line, and returns what is shown until the next prompt. */
function typed(run: TerminalRun, line: string, shown: RegExp): Promise<string> {
  const seen = run.until(shown)
  run.keys(`${line}\r`)
  return seen
}

async function saved(run: TerminalRun): Promise<readonly { role: string; content: string }[]> {
  const path = join(folder, 'chat.json')
  await typed(run, `/save ${path}`, /messages are in .*\n> /s)
  return JSON.parse(await readFile(path, 'utf8')).messages
}

async function leave(run: TerminalRun): Promise<void> {
  run.keys('\x04')
  expect(await run.ended).toBe(0)
}

describe.skipIf(!hasTerminal)('in a terminal', () => {
  test('the last message is edited in the line, and Ctrl-C gives up', async () => {
    const run = await start()
    await typed(run, 'Hello', ANSWERED)
    await typed(run, '/edit', /edit> Hello$/)
    await typed(run, '\x01Oh ', ANSWERED)
    const asked = await saved(run)
    expect(asked.map(({ content }) => content)).toEqual(['Oh Hello', expect.any(String)])
    await typed(run, '/edit', /edit> Oh Hello$/)
    const kept = run.until(/the message stays as it was\n> $/)
    run.keys('\x03')
    await kept
    expect(await saved(run)).toEqual(asked)
    await leave(run)
  }, 60_000)

  test('the last message is edited in $EDITOR, and the chat goes on', async () => {
    const editor = join(folder, 'editor')
    await writeFile(editor, '#!/bin/sh\nprintf "Good morning\\n\\nto you\\n" > "$1"\n')
    await chmod(editor, 0o755)
    const run = await start({ EDITOR: editor })
    await typed(run, 'Hello', ANSWERED)
    await typed(run, '/edit', ANSWERED)
    expect((await saved(run)).map(({ content }) => content)).toEqual([
      'Good morning\n\nto you',
      expect.any(String),
    ])
    await leave(run)
  }, 60_000)

  test('Tab completes a command and a file, but a pasted tab is text', async () => {
    await mkdir(join(folder, 'notes'))
    const run = await start()
    const done = run.until(/\/file .*\/notes\/$/)
    run.keys(`/fi\t${folder}/no\t`)
    await done
    run.keys('\x15')
    const asked = run.until(ANSWERED)
    run.keys('\x1b[200~one\ttwo\nthree\x1b[201~\r')
    await asked
    expect((await saved(run))[0]?.content).toBe('one\ttwo\nthree')
    await leave(run)
  }, 60_000)

  test('keys that are typed during an answer stay in the line, and a message is shown when its turn comes', async () => {
    const run = await start()
    const both = run.until(/tokens\/s\]\n> Good night\n.*tokens\/s[^\]]*\]\n> ahead$/s)
    run.keys('Tell me a story about a cat\rGood night\rahead')
    await both
    run.keys('\x15')
    await leave(run)
  }, 60_000)

  test.each([
    ['NO_COLOR', { NO_COLOR: '1' }],
    ['a dumb terminal', { TERM: 'dumb' }],
  ])(
    '%s gets no styles',
    async (_, env) => {
      const run = await start(env)
      await typed(run, 'Hello', ANSWERED)
      expect(run.raw.split('\x1b[').filter((part) => /^[\d;]*m/.test(part))).toEqual([])
      await leave(run)
    },
    60_000,
  )
})
