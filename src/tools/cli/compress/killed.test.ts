// Killed runs. In: the real program on tiny models, killed at ten points. Out: whether --resume, or repeating
// the command, produces the bytes of an uninterrupted run.
import { existsSync, watch } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { calibrationText } from '../testing/calibration.ts'
import { ended, folder, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

const { text, few } = calibrationText('killed.txt')

const namesIn = (out: string): string[] =>
  [...out.matchAll(/^(layers\.\d+\.\w+\.weight) \[/gm)].map(([, name]) => name!)

/** Kills a run with SIGKILL once it reports the matrix at this index in `order`, or a later one. */
async function killedAt(place: number, order: readonly string[], args: readonly string[]): Promise<void> {
  const child = start(...args)
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const [name = ''] = namesIn(line)
    if (order.indexOf(name) >= place) child.kill('SIGKILL')
  })
  await new Promise((resolve) => child.on('close', resolve))
  expect([args[0], place, child.signalCode]).toEqual([args[0], place, 'SIGKILL'])
}

test.each([
  ['quantize', [0, 3, 5, 9, 12], ['--table', 'w4']],
  ['prune', [1, 4, 8, 12], ['--sparsity', '0.5']],
] as const)(
  '%s, killed repeatedly, ends with the same bytes',
  async (command, places, more) => {
    const whole = path(`${command}-whole.hbm`)
    const output = path(`${command}-killed.hbm`)
    const job = [...few, ...more]
    const order = namesIn((await halfbyte(command, model, whole, ...job)).out)
    expect(order).toHaveLength(14)
    for (const [at, place] of places.entries()) {
      const resume = at === 0 ? [] : ['--resume']
      await killedAt(place, order, [command, model, output, ...job, ...resume])
      expect(existsSync(output)).toBe(false)
      expect((await readdir(`${output}.work`)).length).toBeGreaterThan(1)
    }
    const { code, out } = await halfbyte(command, model, output, ...job, '--resume')
    expect(code).toBe(0)
    // Only matrices of the last block are reported again.
    expect(namesIn(out).length).toBeLessThan(6)
    expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
    expect(existsSync(`${output}.work`)).toBe(false)
  },
  300_000,
)

test('trim, killed while writing, leaves no output and writes the same bytes when run again', async () => {
  const output = path('trim-killed.hbm')
  const job = ['embedded', output, '--keep-text', text, '--held-out', '0']
  const part = `${basename(output)}.part`
  // Writing is so fast that a run may finish before it is killed.
  for (let tries = 0; ; tries++) {
    const child = start('trim', ...job, '--force')
    const watcher = watch(folder, (_, name) => name === part && child.kill('SIGKILL'))
    await ended(child).finally(() => watcher.close())
    if (child.signalCode === 'SIGKILL' && !existsSync(output)) break
    expect(tries).toBeLessThan(20)
    await rm(output, { force: true })
  }
  expect((await halfbyte('trim', ...job)).code).toBe(0)
  const whole = path('trim-whole.hbm')
  expect((await halfbyte('trim', 'embedded', whole, ...job.slice(2))).code).toBe(0)
  expect((await readFile(output)).equals(await readFile(whole))).toBe(true)
  expect((await readdir(folder)).includes(part)).toBe(false)
}, 300_000)
