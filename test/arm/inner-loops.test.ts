// The kernels' machine code on arm64. Out: one sdot per relaxed dot, tiles for 32 registers, no spills.
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { printArguments, readCode } from '../../scripts/arm/machine-code.mjs'
import { type MainLoop, mainLoops } from '../../scripts/arm/main-loops.mjs'

const [command = process.execPath, ...prefix] = JSON.parse(process.env.HALFBYTE_ARM ?? '[]') as string[]
const loopsOf = (build: 'relaxed' | 'simd128'): readonly MainLoop[] => {
  const module = fileURLToPath(new URL(`../../build/test-wasm/halfbyte-${build}-plain.wasm`, import.meta.url))
  const { status, stdout, stderr } = spawnSync(command, [...prefix, ...printArguments(module)], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  assert.equal(status, 0, stderr)
  return mainLoops(readCode(stdout), 'arm64', build)
}
let loops: readonly MainLoop[] = []
let simd128: readonly MainLoop[] = []

before(() => {
  loops = loopsOf('relaxed')
  simd128 = loopsOf('simd128')
})

/**
 * Tiles for 32 registers: the number of tokens, and of dots per iteration. Each pair of a panel and a token
 * takes 16 dots.
 */
const FEW_ROWS = [
  [1, 64],
  [2, 64],
  [3, 48],
  [4, 64],
] as const
const MANY_ROWS = [
  [1, 32],
  [2, 64],
] as const
const LINEAR = [
  ['linear w4', FEW_ROWS],
  ['linear w4m', FEW_ROWS],
  ['linear w8', FEW_ROWS],
  ['linear w4 and w8, laid out', MANY_ROWS],
  ['linear w4m, laid out', MANY_ROWS],
] as const

for (const [kernel, tiles] of LINEAR) {
  test(`${kernel} takes 16 sdot per panel and token without spills, for ${tiles.length} token counts`, () => {
    assert.deepEqual(
      loops
        .filter((each) => each.kernel === kernel)
        .map(({ tokens, dots, spills, scalarSpills }) => ({ tokens, dots, spills, scalarSpills })),
      tiles.map(([tokens, dots]) => ({ tokens, dots, spills: 0, scalarSpills: 0 })),
    )
  })
}

test('linear w4 per channel takes 64 sdot for one token, and spills no vector for up to four', () => {
  const found = loops.filter((each) => each.kernel === 'linear w4 per channel')
  assert.deepEqual(
    found.map(({ tokens, spills }) => ({ tokens, spills })),
    [1, 2, 3, 4].map((tokens) => ({ tokens, spills: 0 })),
  )
  const [one] = found
  assert.deepEqual({ dots: one?.dots, scalarSpills: one?.scalarSpills }, { dots: 64, scalarSpills: 0 })
})

test('their tiles of two to four tokens use more registers than x64 has', () => {
  const wide = new Set<string>(LINEAR.map(([kernel]) => kernel))
  for (const { kernel, tokens, registers } of loops) {
    if (wide.has(kernel) && tokens > 1) assert.ok(registers > 16, `${kernel}, ${tokens}`)
  }
})

for (const kernel of ['linear w4', 'linear w4m', 'linear w8']) {
  test(`${kernel} in simd128 uses products, and spills no vector for up to three tokens or when unpacked`, () => {
    const found = simd128.filter(
      (each) => (each.kernel === kernel && each.tokens < 4) || each.kernel === `${kernel}, laid out`,
    )
    assert.deepEqual(
      found.map(({ tokens, dots, spills }) => ({ tokens, dots, spills })),
      [
        ...[1, 2, 3].map((tokens) => ({ tokens, dots: 64 * tokens, spills: 0 })),
        { tokens: 4, dots: 64, spills: 0 },
      ],
    )
  })
}

for (const kernel of ['attention K, int8', 'attention V, int8']) {
  test(`${kernel} in simd128 adds word products one by one, without spills`, () => {
    const found = simd128.filter((each) => each.kernel === kernel)
    assert.deepEqual(
      found.map(({ tokens, vector, spills }) => ({ tokens, vector, spills })),
      [112, 88, 120, 152].map((vector, index) => ({ tokens: index + 1, vector, spills: 0 })),
    )
  })
}

test('linear w4 per channel in simd128 uses products, and spills no vector for two to four tokens', () => {
  const found = simd128.filter(({ kernel, tokens }) => kernel === 'linear w4 per channel' && tokens > 1)
  assert.deepEqual(
    found.map(({ tokens, dots, spills }) => ({ tokens, dots, spills })),
    [2, 3, 4].map((tokens) => ({ tokens, dots: 64 * tokens, spills: 0 })),
  )
})

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
