// Tests the moving of rows. In: random rows of each type, files that are read at once or late, threads that
// die. Out: the panels that JavaScript packs, and the order of reads and runs.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../test/helpers/random.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { type Encoding, matrixBytes } from '../abi/encodings.ts'
import { type ByteSource, bufferSource, filledSource, readInto } from '../base/bytes.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { codingOf } from '../formats/gguf/group-readers.ts'
import type { DType } from '../formats/tensors.ts'
import { storedSource } from '../store/device/stored-source.ts'
import { addSum, CHUNK_BYTES } from '../store/device/sums.ts'
import type { FolderEntry } from '../store/device/sync-file.ts'
import { streamMatrix, streamVector } from '../weights/stream-weights.ts'
import { Arena } from './memory/arena.ts'
import { instantiateEngine } from './module.ts'
import type { Pool } from './pool.ts'
import { openMover } from './row-mover.ts'

const PAIRS: readonly (readonly [DType, Encoding])[] = [
  ['Q4_0', 'w4_g32'],
  ['Q4_0', 'w4m_g32'],
  ['Q4_0', 'w8_g32'],
  ['Q4_1', 'w4m_g32'],
  ['Q4_K', 'w4m_g32'],
  ['Q5_0', 'w8_g32'],
  ['Q8_0', 'w8_g32'],
  ['Q5_K', 'w8_g32'],
  ['Q6_K', 'w8_g32'],
]

function engineOf(build: string, pages = 128) {
  const file = new URL(`../../../dist/wasm/halfbyte-${build}-plain.wasm`, import.meta.url)
  const memory = new WebAssembly.Memory({ initial: pages })
  const engine = instantiateEngine(new WebAssembly.Module(readFileSync(file)), memory)
  return { engine, arena: new Arena(memory, engine.__heap_base.value) }
}

/** Byte offsets of the f16 numbers in a block. Default: 0. */
const HALVES: Readonly<Partial<Record<DType, readonly number[]>>> = {
  Q4_1: [0, 2],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
}

const N = 96
const K = 1024

const tensorOf = (
  dtype: DType,
  bytes: Uint8Array,
  source: ByteSource = bufferSource('a.gguf', bytes),
  n = N,
) => ({
  n,
  tensor: {
    name: 'w',
    dtype,
    coding: codingOf(dtype),
    shape: [n, K],
    source,
    offset: 0,
    byteLength: bytes.length,
  },
})

const { yieldTask } = nodeHost()

/** The slot as the mover fills it, with the reads that it took and everything behind the slot. */
async function moved(
  build: string,
  part: ReturnType<typeof tensorOf>,
  encoding: Encoding,
  pool?: (engine: ReturnType<typeof engineOf>) => Pool,
) {
  const machine = engineOf(build)
  const { arena, engine } = machine
  const bytes = matrixBytes(encoding, part.n, K)
  const slot = arena.allocate(bytes, 'the slot')
  const mover = openMover({ arena, engine, pool: pool?.(machine), yieldTask })
  await streamMatrix([part], K, encoding, () => arena.u8.subarray(slot, slot + bytes), { mover })
  mover?.settle()
  mover?.close()
  expect(mover).toBeDefined()
  expect(arena.u8.subarray(slot + bytes).every((byte) => byte === 0)).toBe(true)
  return arena.u8.slice(slot, slot + bytes)
}

async function packed(part: ReturnType<typeof tensorOf>, encoding: Encoding): Promise<Uint8Array> {
  const slot = new Uint8Array(matrixBytes(encoding, part.n, K))
  await streamMatrix([part], K, encoding, () => slot)
  return slot
}

/** Rows with random codes, and random scales and minimums below 2, which include 0 and subnormal ones. */
function randomRows(dtype: DType, n: number, seed: number): Uint8Array {
  const { elements, bytes } = BLOCKS[dtype]
  const random = randomFrom(seed)
  const rows = Uint8Array.from({ length: (n * K * bytes) / elements }, () => random() * 256)
  for (let block = 0; block < rows.length; block += bytes)
    for (const at of HALVES[dtype] ?? [0]) {
      rows[block + at + 1]! &= random() < 0.1 ? 0x83 : 0xbf
      if (random() < 0.02) rows.fill(0, block + at, block + at + 2)
    }
  return rows
}

describe.each(['relaxed', 'simd128'])('%s', (build) => {
  test.each(PAIRS)('moves rows of %s into %s as JavaScript packs them', async (dtype, encoding) => {
    const part = tensorOf(dtype, randomRows(dtype, N, 5))
    expect(await moved(build, part, encoding)).toEqual(await packed(part, encoding))
  })

  test.each(PAIRS)(
    'reports a scale of %s that %s cannot have as JavaScript does',
    async (dtype, encoding) => {
      const rows = randomRows(dtype, N, 6)
      rows[rows.length - BLOCKS[dtype].bytes + (HALVES[dtype]?.at(-1) ?? 0) + 1] = 0x7c
      const part = tensorOf(dtype, rows)
      const reason = await packed(part, encoding).catch((error) => error)
      expect(reason).toMatchObject({ code: 'format' })
      await expect(moved(build, part, encoding)).rejects.toThrow(reason.message)
    },
  )
})

/** A pool with one more thread, which writes down its runs and then does them. */
const telling =
  (events: string[], dies = false) =>
  ({ engine, arena }: ReturnType<typeof engineOf>): Pool => ({
    threads: 2,
    memory: arena.memory,
    begin: () => void events.push('begin'),
    run(plan, step, first, last) {
      events.push('run')
      if (dies) throw new Error('a thread died')
      engine.run(0, plan, step, first, last, 0, 1)
    },
    dispose: () => undefined,
  })

/** Rows for four calls. */
const MANY = 4 * Math.floor((1 << 20) / (K + K / 16))

test('other threads move rows while the next ones are read from a stored file', async () => {
  const events: string[] = []
  const bytes = randomRows('Q8_0', MANY - (MANY % 32), 7)
  const source = filledSource('a.gguf', bytes.length, async (target, offset) => {
    events.push('read')
    for (let turn = 0; turn < 100; turn++) await undefined
    target.set(bytes.subarray(offset, offset + target.length))
    events.push('have read')
  })
  const part = tensorOf('Q8_0', bytes, source, MANY - (MANY % 32))
  expect(await moved('relaxed', part, 'w8_g32', telling(events))).toEqual(await packed(part, 'w8_g32'))
  const read = ['read', 'have read']
  const again = ['begin', ...read, 'run']
  expect(events.slice(0, 15)).toEqual([...read, ...again, ...again, ...again, 'begin'])
})

test('threads never wait for bytes that arrive in a later task', async () => {
  const events: string[] = []
  const bytes = randomRows('Q8_0', 1024, 8)
  const source = filledSource('a.gguf', bytes.length, async (target, offset) => {
    events.push('request')
    await new Promise((resolve) => setTimeout(resolve, 20))
    target.set(bytes.subarray(offset, offset + target.length))
    events.push('response')
  })
  const part = tensorOf('Q8_0', bytes, source, 1024)
  await moved('relaxed', part, 'w8_g32', telling(events))
  expect(events.slice(0, 6)).toEqual(['request', 'response', 'begin', 'request', 'run', 'response'])
})

test('threads do not wait while other weights are read', async () => {
  const events: string[] = []
  const { engine, arena } = engineOf('relaxed')
  const slot = arena.allocate(1 << 20, 'the slots')
  const view = () => arena.u8.subarray(slot, slot + (1 << 20))
  const mover = openMover({ arena, engine, pool: telling(events)({ engine, arena }), yieldTask })
  const part = tensorOf('Q8_0', randomRows('Q8_0', N, 11))
  const reading = (size: number) => filledSource('a.gguf', size, async () => void events.push('read'))
  const vector = { ...tensorOf('F32', new Uint8Array(256), reading(256)).tensor, shape: [64] }
  const floats = tensorOf('F32', new Uint8Array(32 * K * 4), reading(32 * K * 4), 32)
  await streamMatrix([part], K, 'w8_g32', view, { mover })
  await streamVector([{ tensor: vector, n: 64 }], view, { mover })
  await streamMatrix([part], K, 'w8_g32', view, { mover })
  await streamMatrix([floats], K, 'f32', view, { mover })
  expect(events).toEqual(['begin', 'run', 'read', 'begin', 'run', 'read'])
})

test('one thread moves the rows if another dies', async () => {
  const part = tensorOf('Q4_0', randomRows('Q4_0', 4096, 9), undefined, 4096)
  const events: string[] = []
  expect(await moved('relaxed', part, 'w4_g32', telling(events, true))).toEqual(await packed(part, 'w4_g32'))
  expect(events.filter((event) => event === 'run')).toHaveLength(1)
})

test.each(['relaxed', 'simd128'])('%s: stored chunks are summed where they are read', async (build) => {
  const { engine, arena } = engineOf(build)
  const bytes = randomRows('Q8_0', 4096, 10)
  const size = bytes.length
  const sums = [0, 1].map((index) =>
    addSum(0, bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES)),
  )
  let summed = 0
  const adler: typeof engine.adler = (sum, at, count) => {
    summed += count
    return engine.adler(sum, at, count)
  }
  const read = (target: Uint8Array, { at }: { at: number }) => {
    target.set(bytes.subarray(at, at + target.length))
    return target.length
  }
  const handle = { mode: 'read-only', read, getSize: () => size, close: () => undefined }
  const entry = { createSyncAccessHandle: async () => handle } as unknown as FolderEntry
  const target = arena.allocate(1000, 'a part of a chunk')
  const mover = openMover({ arena, engine: { ...engine, adler }, yieldTask })
  const source = await storedSource('a.gguf', entry, { sums })
  await readInto(source, arena.u8.subarray(target, target + 1000), CHUNK_BYTES - 500)
  expect(arena.u8.slice(target, target + 1000)).toEqual(bytes.slice(CHUNK_BYTES - 500, CHUNK_BYTES + 500))
  expect(summed).toBe(size)
  mover?.close()
  const others = await storedSource('a.gguf', entry, { sums })
  await readInto(others, arena.u8.subarray(target, target + 1000), 0)
  expect(summed).toBe(size)
})

test('takes no memory beyond what there is', () => {
  const { engine, arena } = engineOf('relaxed')
  const rest = arena.memoryBytes - arena.mark()
  arena.allocate(rest - (2 << 20), 'the slot')
  const mark = arena.mark()
  expect(openMover({ arena, engine, yieldTask })).toBeUndefined()
  expect(arena.mark()).toBe(mark)
})
