// Tests part checks. In: parts of an arena. Out: the same sums as `checksum`, and no writes outside the
// parts.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checksum } from '../base/sha256.ts'
import { Arena } from './memory/arena.ts'
import { instantiateEngine } from './module.ts'
import { MAX_PARTS, PartCheck } from './part-check.ts'
import { SinglePool } from './pool.ts'

for (const build of ['relaxed', 'simd128']) {
  test(`the ${build} build sums parts like checksum, and touch writes only inside them`, () => {
    const file = new URL(`../../../dist/wasm/halfbyte-${build}-plain.wasm`, import.meta.url)
    const memory = new WebAssembly.Memory({ initial: 64 })
    const engine = instantiateEngine(new WebAssembly.Module(readFileSync(file)), memory)
    const arena = new Arena(memory, engine.__heap_base.value)
    const check = new PartCheck(new SinglePool(engine, arena), arena)
    const sizes = Array.from({ length: MAX_PARTS }, (_, index) => 64 * (1 + ((index * 37) % 211)))
    const parts = sizes.map((bytes) => {
      const address = arena.allocate(bytes, 'a part')
      arena.allocate(64, 'the bytes in between')
      return { address, bytes }
    })
    const first = parts[0]!
    const last = parts.at(-1)!
    const end = last.address + last.bytes + 64
    for (let at: number = first.address; at < end; at++) arena.u8[at] = ((at * 31) ^ (at >> 8)) | 1
    const before = arena.u8.slice(first.address, end)
    const sums = parts.map(({ address, bytes }) => checksum(arena.u8.subarray(address, address + bytes)))
    expect(check.sums(parts)).toEqual(sums)
    expect(check.sums(parts.slice(5, 7))).toEqual(sums.slice(5, 7))
    expect(arena.u8.slice(first.address, end)).toEqual(before)
    check.touch(parts)
    const isInside = (at: number) => parts.some(({ address, bytes }) => at >= address && at < address + bytes)
    const pages = new Map<number, number>()
    for (const [index, value] of before.entries()) {
      const at = first.address + index
      if (arena.u8[at] === value) continue
      expect(isInside(at)).toBe(true)
      pages.set(at >> 12, at)
    }
    // The changed bytes include every page that is entirely within a part.
    const whole = (page: number) =>
      parts.some(({ address, bytes }) => page << 12 >= address && (page + 1) << 12 <= address + bytes)
    for (let page = first.address >> 12; page <= end >> 12; page++)
      if (whole(page)) expect(pages.has(page)).toBe(true)
  })
}
