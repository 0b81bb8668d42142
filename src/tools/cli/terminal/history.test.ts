// The history of typed lines. In: files and environments. Out: lines of earlier runs, readable by their
// owner.
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stateFolder } from '../platform-folders.ts'
import { openHistory } from './history.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-history-'))
})
afterEach(() => rm(folder, { recursive: true }))

test.runIf(process.platform !== 'win32')('lines are there in the next run, newest first', async () => {
  const path = join(folder, 'state/chat-history')
  const first = openHistory(path)
  expect(first.lines).toEqual([])
  for (const line of ['one', ' a secret', '', 'two']) first.add(line)
  expect(openHistory(path).lines).toEqual(['two', 'one'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'state'))).mode & 0o777).toBe(0o700)
})

test.runIf(process.platform !== 'win32')('a file that others can read is made private', async () => {
  const path = join(folder, 'chat-history')
  await writeFile(path, 'one\n')
  await chmod(path, 0o644)
  expect(openHistory(path).lines).toEqual(['one'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('the oldest lines are dropped after 1,000', async () => {
  const path = join(folder, 'chat-history')
  await writeFile(path, Array.from({ length: 1200 }, (_, index) => `line ${index}\n`).join(''))
  const { lines } = openHistory(path)
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([1000, 'line 1199', 'line 200'])
  expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(1001)
})

test('a place that cannot be used is noted once, and lines are not kept', async () => {
  const said: unknown[] = []
  const { write } = process.stderr
  process.stderr.write = (text) => said.push(text) > 0
  try {
    const history = openHistory(folder)
    history.add('one')
    expect(history.lines).toEqual([])
  } finally {
    process.stderr.write = write
  }
  expect(said).toEqual([`note: the history is not saved: ${folder} cannot be used (EISDIR)\n`])
})

test('the folder follows the conventions of the platform', () => {
  expect(stateFolder({}, 'linux', '/h')).toBe(join('/h', '.local', 'state', 'halfbyte'))
  expect(stateFolder({ XDG_STATE_HOME: '/s' }, 'linux', '/h')).toBe(join('/s', 'halfbyte'))
  expect(stateFolder({}, 'darwin', '/h')).toBe(join('/h', 'Library', 'Application Support', 'halfbyte'))
  expect(stateFolder({ LOCALAPPDATA: '/l' }, 'win32', '/h')).toBe(join('/l', 'halfbyte'))
})
