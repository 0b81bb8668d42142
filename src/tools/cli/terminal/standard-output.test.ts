// Standard output that cannot be written. In: the real program, with a full disk or a closed pipe behind it.
// Out: one line and the exit code, from every kind of command.
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type Ended, GREEDY, MAIN, model, path, testModels } from '../testing/program.ts'

testModels()

/** Every write to it fails with ENOSPC. */
const FULL = '/dev/full'

async function runInto(full: { out?: boolean; err?: boolean }, args: readonly string[]): Promise<Ended> {
  const disk = openSync(FULL, 'w')
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', full.out ? disk : 'pipe', full.err ? disk : 'pipe'],
  })
  closeSync(disk)
  child.stdin?.end('ab\n')
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  const read = (stream: typeof child.stdout) => (stream === null ? '' : text(stream))
  const [out, err, code] = await Promise.all([read(child.stdout), read(child.stderr), exit])
  return { code, out, err }
}

describe.skipIf(!existsSync(FULL)).concurrent('a full disk', () => {
  test.each([
    ['the help', ['--help']],
    ['a reply', ['generate', model, ...GREEDY]],
    ['bytes', ['logits', model, '--tokens', '1,2,3']],
    ['a summary', ['convert', model, path('full.hbm')]],
  ])('on standard output is one line: %s', async (_, args) => {
    expect(await runInto({ out: true }, args)).toMatchObject({
      code: 1,
      err: 'storage-full: standard output cannot be written: no space left on device (ENOSPC); free some space or choose another place\n',
    })
  })

  test('for messages leaves the exit code of the command', async () => {
    expect(await runInto({ err: true }, ['inspect', path('none.hbm')])).toMatchObject({ code: 1 })
  })
})

test.each([
  ['models', ['models']],
  ['logits', ['logits', model, '--tokens', '1,2,3']],
])('a reader that closes the pipe before the output is not an error: %s', async (_, args) => {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [err, code] = await Promise.all([text(child.stderr), exit])
  expect({ code, err }).toEqual({ code: 0, err: '' })
})
