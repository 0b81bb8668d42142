// Networks exported by torch. In: some exports with random weights (torch_networks.py). Out: whether they
// match onnxruntime-web, on several sizes and in both builds.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { judgeNetwork, type Sizes } from './judge.ts'

const FOLDER = join(import.meta.dirname, 'exports')
const NAMES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.onnx.gz'))
  .map((name) => name.slice(0, -'.onnx.gz'.length))
/** Sizes of each; `npm run conformance:networks` has all ten. */
const RUNS = 4

test('there are networks to check', () => {
  expect(NAMES.length).toBeGreaterThan(6)
})

test.each(NAMES)('%s', { timeout: 60_000 }, async (name) => {
  const bytes = new Uint8Array(gunzipSync(readFileSync(join(FOLDER, `${name}.onnx.gz`))))
  const sizes: Sizes = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))
  const verdict = await judgeNetwork(bytes, { ...sizes, sizes: sizes.sizes.slice(0, RUNS) })
  expect(verdict).toMatchObject({ is: 'equal', runs: RUNS })
})
