// Locks between processes. In: work that overlaps, holders that are killed, suspended or slow. Out: who works
// when, and the files that are left.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFiles } from './lock-files.ts'

let folder: string
const children: ChildProcess[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-locks-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

/** Another process that holds the lock. */
async function held(name = 'a'): Promise<ChildProcess> {
  const script = join(import.meta.dirname, 'testing', 'hold-lock.ts')
  const child = spawn(process.execPath, [script, folder, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(child.stdout!, 'data')
  return child
}

test('work with one lock never overlaps, and leaves no file', async () => {
  const alone = lockFiles(folder)
  let running = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++running)
    await wait(5)
    running--
  }
  await Promise.all(Array.from({ length: 8 }, () => alone('a', work)))
  expect(most).toBe(1)
  expect(await readdir(folder)).toEqual([])
})

test('other locks do not wait', async () => {
  const alone = lockFiles(folder)
  expect(await alone('a', () => alone('ab', async () => 'in both'))).toBe('in both')
})

test('shared work overlaps with its own kind, and excludes the other', async () => {
  const alone = lockFiles(folder)
  const order: string[] = []
  let inside = 0
  const both = Promise.withResolvers<void>()
  const read = async () => {
    if (++inside === 2) both.resolve()
    await both.promise
    order.push('read')
  }
  const reads = [alone('a', read, 'shared'), alone('a', read, 'shared')]
  await wait(0)
  const written = alone('a', async () => void order.push('write'))
  await Promise.all([...reads, written])
  expect(order).toEqual(['read', 'read', 'write'])
})

test('unused work is not done while another process holds the lock', async () => {
  await held()
  expect(await lockFiles(folder)('a', async () => 'done', 'unused')).toBeUndefined()
  expect(await lockFiles(folder)('b', async () => 'done', 'unused')).toBe('done')
})

test('an abort ends the wait', async () => {
  await held()
  const abort = new AbortController()
  const waiting = lockFiles(folder)('a', async () => 'done', 'exclusive', abort.signal)
  abort.abort(new Error('stopped by the test'))
  await expect(waiting).rejects.toThrow('stopped by the test')
  expect(await readdir(folder)).toHaveLength(1)
})

test('a holder that was killed is replaced at once', async () => {
  const holder = await held()
  const waiting = lockFiles(folder, { deadMs: 1e9 })('a', async () => 'done')
  holder.kill('SIGKILL')
  expect(await waiting).toBe('done')
  expect(await readdir(folder)).toEqual([])
})

test.runIf(process.platform !== 'win32')(
  'a holder that no longer touches its file is replaced, but one that does is not',
  async () => {
    const holder = await held()
    const short = lockFiles(folder, { deadMs: 400 })
    const abort = new AbortController()
    const waiting = short('a', async () => 'done', 'exclusive', abort.signal)
    await wait(1200)
    abort.abort(new Error('it still held the lock'))
    await expect(waiting).rejects.toThrow('it still held the lock')
    holder.kill('SIGSTOP')
    expect(await short('a', async () => 'done')).toBe('done')
  },
)

test('a file of a process on another machine counts until it is not touched any more', async () => {
  await writeFile(join(folder, `a.${process.pid}.elsewhere.0.exclusive`), '')
  expect(await lockFiles(folder)('a', async () => 'done', 'unused')).toBeUndefined()
  expect(await lockFiles(folder, { deadMs: 50 })('a', async () => 'done')).toBe('done')
})

test('a failure frees the lock', async () => {
  const alone = lockFiles(folder)
  await expect(
    alone('a', async () => {
      throw new Error('broken')
    }),
  ).rejects.toThrow('broken')
  expect(await alone('a', async () => 'done', 'unused')).toBe('done')
})

test('without a folder that can be written, work is done without a lock', async () => {
  await writeFile(join(folder, 'file'), '')
  expect(await lockFiles(join(folder, 'file', 'locks'))('a', async () => 'done')).toBe('done')
})
