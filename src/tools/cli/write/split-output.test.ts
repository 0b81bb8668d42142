// Split output. In: bytes that arrive in pieces, and failures while writing. Out: all parts, or no file at
// all.
import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { writeParts } from './write-model.ts'

const folder = mkdtempSync(join(tmpdir(), 'halfbyte-parts-'))
const output = join(folder, 'big.hbm')
const BYTES = new Uint8Array(1000).map((_, at) => at * 7)

afterEach(async () => {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
})

async function* pieces(...lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0
  for (const length of lengths) {
    yield BYTES.subarray(at, at + length)
    at += length
  }
}

test.each([
  [400, ['big-00001-of-00003.hbm', 'big-00002-of-00003.hbm', 'big-00003-of-00003.hbm']],
  [500, ['big-00001-of-00002.hbm', 'big-00002-of-00002.hbm']],
  [1000, ['big.hbm']],
  [64e6, ['big.hbm']],
])('parts of %i bytes', async (partBytes, names) => {
  const parts = await writeParts(output, pieces(30, 0, 900, 70), partBytes, () => 1000)
  expect(parts).toEqual({ paths: names.map((name) => join(folder, name)), bytes: 1000 })
  expect((await readdir(folder)).sort()).toEqual(names)
  const files = await Promise.all(parts.paths.map((path) => readFile(path)))
  for (const file of files.slice(0, -1)) expect(file.length).toBe(partBytes)
  expect(new Uint8Array(Buffer.concat(files))).toEqual(BYTES)
})

test('if the model’s bytes fail, no file is left and their error is rethrown', async () => {
  const cause = new Error('the disk of the model')
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield* pieces(600)
    expect(await readdir(folder)).toHaveLength(2)
    throw cause
  }
  await expect(writeParts(output, failing(), 400, () => 1000)).rejects.toBe(cause)
  expect(await readdir(folder)).toEqual([])
})

test('an aborted write leaves no file', async () => {
  const controller = new AbortController()
  async function* stopping(): AsyncGenerator<Uint8Array> {
    yield* pieces(600)
    controller.abort()
    yield BYTES.subarray(600)
  }
  const writing = writeParts(output, stopping(), 400, () => 1000, controller.signal)
  await expect(writing).rejects.toMatchObject({ name: 'AbortError' })
  expect(await readdir(folder)).toEqual([])
})

test('no file is left if a part cannot be renamed', async () => {
  await mkdir(join(folder, 'big-00002-of-00003.hbm', 'full'), { recursive: true })
  const writing = writeParts(output, pieces(1000), 400, () => 1000)
  await expect(writing).rejects.toMatchObject({ code: 'unsupported' })
  expect(await readdir(folder)).toEqual(['big-00002-of-00003.hbm'])
})

test('more parts than readers accept are rejected before any is written', async () => {
  const writing = writeParts(output, pieces(1000), 1, () => 1000)
  await expect(writing).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /1000 bytes, which need 1000 parts of 1 bytes, but the limit is 999 parts; make parts of at least 2 bytes/,
    ),
  })
  expect(await readdir(folder)).toEqual([])
})
