// The relaxed kernels' machine code on arm64. In: build/test-wasm. Out: one sdot per relaxed dot, no spill in decode's loops.
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { printArguments, readCode } from '../scripts/machine-code.mjs'
import { type MainLoop, mainLoops } from '../scripts/main-loops.mjs'

let loops: readonly MainLoop[] = []

before(() => {
  const module = fileURLToPath(new URL('../build/test-wasm/halfbyte-relaxed-plain.wasm', import.meta.url))
  const [command = process.execPath, ...prefix] = JSON.parse(process.env.HALFBYTE_ARM ?? '[]') as string[]
  const { status, stdout, stderr } = spawnSync(command, [...prefix, ...printArguments(module)], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  assert.equal(status, 0, stderr)
  loops = mainLoops(readCode(stdout), 'arm64', 'relaxed')
})

/** Dots of one pass for one token: four panels, two for each of 8 vectors of nibbles or 16 of bytes. */
const DECODE = [
  ['linear w4', 64],
  ['linear w4m', 64],
  ['linear w8', 128],
] as const

for (const [kernel, dots] of DECODE) {
  test(`${kernel} for one token is ${dots} sdot without a spill`, () => {
    const [loop, ...others] = loops.filter((each) => each.kernel === kernel && each.tokens === 1)
    assert.equal(others.length, 0)
    assert.deepEqual(
      { dots: loop?.dots, spills: loop?.spills, scalarSpills: loop?.scalarSpills },
      { dots, spills: 0, scalarSpills: 0 },
    )
  })
}

const ATTENTION = ['attention K', 'attention K, int8', 'attention V', 'attention V, int8', 'attention V, fp8']

for (const kernel of ATTENTION) {
  test(`${kernel} spills nothing for one to four queries`, () => {
    const found = loops.filter((each) => each.kernel === kernel)
    assert.deepEqual(
      found.map(({ tokens, spills }) => ({ tokens, spills })),
      [1, 2, 3, 4].map((tokens) => ({ tokens, spills: 0 })),
    )
  })
}
