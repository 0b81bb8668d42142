// Resuming unfinished jobs. In: the real program, killed early or paused, and inputs changed in between. Out:
// the same bytes as an uninterrupted run, or an error with the reason.
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { peftFiles, randomLora } from '../../../../test/conformance/testing/writers/lora-files.ts'
import { appears, calibrationText } from '../testing/calibration.ts'
import { ended, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

const { text } = calibrationText('resuming.txt')
const asked = ['--calibration', text, '--context', '48', '--windows', '12', '--threads', '1'] as const
const other = path('other.gguf')
const whole = path('resume-whole.hbm')

beforeAll(async () => {
  // Different weights of the same shapes.
  const speaker = randomLlama({ seed: 6, gain: 1.6, speaks: true, contextLength: 16_384 })
  await writeFile(other, await (await ggufFile(speaker)).bytes())
  expect((await halfbyte('quantize', model, whole, ...asked)).code).toBe(0)
}, 60_000)

/** Runs the job until `file` appears in its work folder, then kills it. */
async function killedAt(file: string, output: string, ...args: readonly string[]): Promise<void> {
  const child = start(...args)
  await appears(join(`${output}.work`, file))
  child.kill('SIGKILL')
  await ended(child)
  expect(existsSync(output)).toBe(false)
}

const sameAs = async (output: string, expected: string) =>
  expect((await readFile(output)).equals(await readFile(expected))).toBe(true)

describe('a job that was killed', () => {
  test.each(['', 'lock-1', 'job.json', 'layers.0.attn_q.weight.json', 'layers.0.attn_q.weight.codes'])(
    'as soon as its folder has "%s" resumes with the same bytes',
    async (file) => {
      const output = path(`killed-${file}.hbm`)
      const job = ['quantize', model, output, ...asked] as const
      await killedAt(file, output, ...job)
      expect(await halfbyte(...job, '--resume')).toMatchObject({ code: 0, err: '' })
      await sameAs(output, whole)
      expect(existsSync(`${output}.work`)).toBe(false)
    },
    120_000,
  )

  test('before its folder has any work starts afresh, with or without --resume', async () => {
    const states: readonly (readonly string[])[] = [
      [],
      ['lock-1'],
      ['lock-1', 'lock-2'],
      ['lock-1', 'job.json.part'],
    ]
    for (const [index, names] of states.entries()) {
      const output = path(`early-${index}.hbm`)
      await mkdir(`${output}.work`)
      // The files left by a process that is killed while writing.
      for (const name of names) await writeFile(join(`${output}.work`, name), '{"pid":')
      const more = index % 2 === 0 ? ['--resume'] : []
      expect(await halfbyte('quantize', model, output, ...asked, ...more)).toMatchObject({ code: 0, err: '' })
      await sameAs(output, whole)
    }
  }, 120_000)

  test('while removing its folder does not block the next run', async () => {
    const output = path('removing.hbm')
    await mkdir(`${output}.work.removed`)
    await writeFile(join(`${output}.work.removed`, 'layers.0.attn_q.weight.codes'), 'x')
    expect((await halfbyte('quantize', model, output, ...asked, '--resume')).code).toBe(0)
    expect(existsSync(`${output}.work.removed`)).toBe(false)
  }, 60_000)

  test('a folder with foreign files is left alone', async () => {
    const output = path('foreign.hbm')
    await mkdir(`${output}.work`)
    await writeFile(join(`${output}.work`, 'notes.txt'), 'mine')
    expect(await halfbyte('quantize', model, output, ...asked, '--resume')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^unsupported: .*is not empty and contains no unfinished job/),
    })
    expect(await readdir(`${output}.work`)).toEqual(['notes.txt'])
  }, 60_000)
})

describe('a job resumes only if nothing about it has changed', () => {
  test('not with different weights, adapter, text or version', async () => {
    const output = path('same.hbm')
    const mine = path('mine.gguf')
    const adapter = path('resume-adapter')
    const words = path('words.txt')
    const begin = async (seed: number, names: RegExp) => {
      await mkdir(adapter, { recursive: true })
      const lora = randomLora(randomLlama({ seed: 5 }).weights, names, 2, seed)
      for (const file of peftFiles(lora)) await writeFile(join(adapter, file.name), await file.bytes())
    }
    await copyFile(model, mine)
    await copyFile(text, words)
    await begin(9, /q_proj|down_proj/)
    const job = ['quantize', mine, output, ...asked, '--calibration', words, '--lora', adapter] as const
    await killedAt('layers.0.attn_q.weight.codes', output, ...job)
    const differs = async (in_: string) =>
      expect(await halfbyte(...job, '--resume')).toMatchObject({
        code: 1,
        err: expect.stringMatching(`contains a job that differs from this one in ${in_}; repeat`),
      })
    await copyFile(other, mine)
    await differs('weights')
    await copyFile(model, mine)
    await begin(10, /q_proj|down_proj/)
    await differs('weights')
    await begin(9, /q_proj|down_proj/)
    await writeFile(words, `another ${await readFile(text, 'utf8')}`)
    await differs('text')
    await copyFile(text, words)
    const key = join(`${output}.work`, 'job.json')
    const written = await readFile(key, 'utf8')
    await writeFile(key, JSON.stringify({ ...JSON.parse(written), version: '0.0.1' }))
    await differs('version')
    await writeFile(key, 'not JSON')
    await differs('version, settings, configuration, text, weights')
    await writeFile(key, written)
    expect(await halfbyte(...job, '--resume')).toMatchObject({ code: 0, err: '' })
    const straight = path('same-whole.hbm')
    await halfbyte('quantize', mine, straight, ...asked, '--calibration', words, '--lora', adapter)
    await sameAs(output, straight)
  }, 240_000)

  test('not for an evaluation whose model differs by one byte', async () => {
    const mine = path('scored.gguf')
    const output = path('scored.json')
    await copyFile(model, mine)
    const job = [
      'eval',
      mine,
      `second_halves=${text}`,
      '--context',
      '32',
      '--threads',
      '1',
      '--output',
      output,
    ] as const
    await killedAt('job.json', output, ...job)
    const bytes = await readFile(mine)
    // The last weight, because it is far from the middle of its matrix.
    bytes[bytes.length - 2]! ^= 1
    await writeFile(mine, bytes)
    expect(await halfbyte(...job, '--resume')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/contains a job that differs from this one in weights; repeat/),
    })
    await copyFile(model, mine)
    expect(await halfbyte(...job, '--resume')).toMatchObject({ code: 0, err: '' })
  }, 120_000)
})

describe('a folder in use by a process', () => {
  const halted: ChildProcess[] = []

  test('is closed to a second process, with the first one’s id in the message, until the first is killed', async () => {
    const output = path('held.hbm')
    const job = ['quantize', model, output, ...asked] as const
    const first = start(...job)
    halted.push(first)
    await appears(`${output}.work/layers.0.attn_q.weight.codes`)
    first.kill('SIGSTOP')
    for (const more of [[], ['--resume']])
      expect(await halfbyte(...job, ...more)).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          `^unsupported: process ${first.pid} is using the folder .*; wait until it has ended`,
        ),
      })
    first.kill('SIGKILL')
    await ended(first)
    expect(await halfbyte(...job, '--resume')).toMatchObject({ code: 0, err: '' })
    await sameAs(output, whole)
  }, 120_000)

  test('belongs to only one of two processes that start at the same time', async () => {
    const output = path('both.hbm')
    const job = ['quantize', model, output, ...asked, '--resume', '--force'] as const
    const both = await Promise.all([halfbyte(...job), halfbyte(...job)])
    const [best, second] = both.toSorted((left, right) => left.code! - right.code!)
    expect(best).toMatchObject({ code: 0, err: '' })
    // The second may start after the first has ended.
    if (second?.code !== 0) expect(second?.err).toMatch(/^unsupported: process \d+ is using the folder/)
    await sameAs(output, whole)
    await rm(output)
  }, 120_000)

  test('is free if another process has reused the process id of its lock', async () => {
    const output = path('reused.hbm')
    await mkdir(`${output}.work`)
    const { pid } = process
    const lock = join(`${output}.work`, 'lock-1')
    const machine = (await import('node:os')).hostname()
    await writeFile(lock, JSON.stringify({ pid, began: '1', machine }))
    const job = ['quantize', model, output, ...asked, '--force'] as const
    // Linux reports when a process started; elsewhere only its id counts.
    if (process.platform === 'linux') expect(await halfbyte(...job)).toMatchObject({ code: 0, err: '' })
    await mkdir(`${output}.work`, { recursive: true })
    await writeFile(lock, JSON.stringify({ pid, machine: 'elsewhere' }))
    expect(await halfbyte(...job, '--resume')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        `process ${pid} on elsewhere is using the folder .*, or remove .*lock-1 if it has`,
      ),
    })
  }, 120_000)
})
