// Tests the script for a pack's codes on a tiny pack: reading codes and writing them back gives the same
// pack.
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { halfbyte, model, path, testModels } from '../../../src/tools/cli/testing/program.ts'

testModels()

const SCRIPT = fileURLToPath(new URL('codes.mjs', import.meta.url))
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })

test('codes that are read and rewritten give the same model', async () => {
  const [pack, codes, again, same] = ['a.hbm', 'a.safetensors', 'b.hbm', 'b.safetensors'].map(path) as [
    ...[string, string, string, string],
  ]
  expect((await halfbyte('quantize', model, pack, '--method', 'rtn', '--weights', 'w4')).code).toBe(0)
  expect(run('read', pack, codes)).toMatchObject({ status: 0, stderr: '' })
  expect(run('write', pack, codes, again)).toMatchObject({ status: 0, stderr: '' })
  expect(run('read', again, same)).toMatchObject({ status: 0, stderr: '' })
  expect((await readFile(same)).equals(await readFile(codes))).toBe(true)
  const logits = async (file: string) => {
    const output = `${file}.logits`
    await halfbyte('logits', file, '--tokens', '1,5,9', '--threads', '1', '--output', output)
    return readFile(output)
  }
  expect((await logits(again)).equals(await logits(pack))).toBe(true)
}, 120_000)

test('errors name the missing item', () => {
  expect(run('write', 'a.hbm', 'a.safetensors').stderr).toContain('write PACK CODES OUTPUT')
})
