// Weights that all threads place. In: a file with rows of several types, packed panels and vectors; threads
// that help, cannot open the file, or start late; damage. Out: the memory, what is read, and when it must be
// read again.
import { closeSync, openSync, readSync } from 'node:fs'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomFrom } from '../../../test/helpers/random.ts'
import { type Encoding, matrixBytes } from '../../core/abi/encodings.ts'
import { type ByteSource, filledSource, joinBytes } from '../../core/base/bytes.ts'
import { rowBytes } from '../../core/formats/dtypes.ts'
import { codingOf } from '../../core/formats/gguf/group-readers.ts'
import type { DType, TensorInfo } from '../../core/formats/tensors.ts'
import { randomBlocks } from '../../core/formats/testing/random-blocks.ts'
import type { WeightSlot } from '../../core/graph/plan/plan.ts'
import { openRuntime, startThreads } from '../../core/runtime/open-runtime.ts'
import { CONTROL, type PlaceRequest } from '../../core/runtime/place-pieces.ts'
import { addSum, CHUNK_BYTES } from '../../core/store/device/sums.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { loadWeights, reserveWeights } from './load-weights.ts'
import { StoredPlacing } from './place-stored.ts'
import type { PreparedModel } from './prepare.ts'

interface Row {
  readonly name: string
  readonly dtype: DType
  readonly n: number
  readonly k: number
  readonly encoding: Encoding
  readonly packed?: Encoding
}

const ROWS: readonly Row[] = [
  { name: 'q5', dtype: 'Q5_0', n: 512, k: 2048, encoding: 'w8_g32' },
  { name: 'q4k', dtype: 'Q4_K', n: 2048, k: 1024, encoding: 'w4m_g32' },
  { name: 'q6k', dtype: 'Q6_K', n: 512, k: 1024, encoding: 'w8_g32' },
  { name: 'panels', dtype: 'Q8_0', n: 5056, k: 1024, encoding: 'w8_g32', packed: 'w8_g32' },
  // `repack` does not know this type.
  { name: 'iq4', dtype: 'IQ4_NL', n: 256, k: 1024, encoding: 'w8_g32' },
]
const VECTOR = 100
/** Bytes between tensors, which no weight needs. */
const GAP = 32

const SLOTS: readonly WeightSlot[] = [
  ...ROWS.map(({ name, n, k, encoding }) => ({
    ref: { parts: [{ name, n }], k, kind: 'matrix' as const },
    encoding,
    n,
    bytes: matrixBytes(encoding, n, k),
  })),
  { ref: { parts: [{ name: 'v', n: VECTOR }], k: 1, kind: 'vector' }, encoding: 'f32', n: 128, bytes: 512 },
]
const WEIGHT_BYTES = SLOTS.reduce((sum, { bytes }) => sum + bytes, 0)

let folder: string
let path: string
let bytes: Uint8Array
let sums: number[]
const tensors: Omit<TensorInfo, 'source'>[] = []
beforeAll(async () => {
  const random = randomFrom(2)
  const parts: Uint8Array[] = []
  let offset = 0
  const add = (part: Uint8Array, tensor: Pick<TensorInfo, 'name' | 'dtype' | 'shape' | 'packed'>) => {
    const coding = tensor.packed === undefined ? codingOf(tensor.dtype) : undefined
    tensors.push({ ...tensor, coding, offset, byteLength: part.length })
    parts.push(part, new Uint8Array(GAP).fill(9))
    offset += part.length + GAP
  }
  for (const { name, dtype, n, k, encoding, packed } of ROWS) {
    const length = packed === undefined ? n * rowBytes(dtype, k) : matrixBytes(encoding, n, k)
    const part =
      packed === undefined
        ? randomBlocks(dtype as 'Q4_K', (n * k) / (dtype.endsWith('_K') ? 256 : 32), 5)
        : Uint8Array.from({ length }, () => random() * 256)
    expect(part.length).toBe(length)
    add(part, { name, dtype, shape: [n, k], packed })
  }
  const vector = Float32Array.from({ length: VECTOR }, random)
  add(new Uint8Array(vector.buffer), { name: 'v', dtype: 'F32', shape: [VECTOR] })
  bytes = joinBytes(parts)
  sums = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, chunk) =>
    addSum(0, bytes.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)),
  )
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-place-'))
  path = join(folder, 'weights.bin')
  await writeFile(path, bytes)
})
afterAll(() => rm(folder, { recursive: true }))

interface Setting {
  readonly threads?: number
  /** What other threads open. Default: the file. */
  readonly entry?: string
  readonly file?: string
  readonly sums?: readonly (number | null)[]
  readonly signal?: AbortSignal
  /** Whether the other threads place all pieces before the first begins. Default: all take part. */
  readonly isLate?: boolean
}

/** Loads the weights, and says what was read by the first thread, and how. */
async function load({
  threads = 1,
  file = path,
  entry = file,
  sums: known = sums,
  signal,
  isLate = false,
}: Setting) {
  const descriptor = openSync(file, 'r')
  const reads = { checked: 0, unchecked: 0 }
  const fill = (target: Uint8Array, offset: number) => {
    if (readSync(descriptor, target, 0, target.length, offset) < target.length) throw new Error('too short')
  }
  const source: ByteSource = {
    ...filledSource('weights.bin', bytes.length, (target, offset) => {
      reads.checked += target.length
      fill(target, offset)
    }),
    shared: {
      entry,
      sums: known,
      isRight: () => false,
      read(target, offset) {
        reads.unchecked += target.length
        fill(target, offset)
      },
    },
  }
  const host = nodeHost()
  const weights = new Map(tensors.map((tensor) => [tensor.name, { ...tensor, source }]))
  const runtime = await openRuntime({ host, threads, needBytes: WEIGHT_BYTES })
  const { arena, engine } = runtime
  const reserved = reserveWeights(arena, { slots: SLOTS })
  const placing = StoredPlacing.plan(weights, SLOTS, reserved, runtime, threads)
  expect(placing).toBeDefined()
  const requests: PlaceRequest[] = []
  const place = () => {
    requests.push(placing!.request())
    return requests.at(-1)
  }
  const early = await startThreads(runtime, { host, threads }, { place })
  const left = () => Atomics.load(arena.u32, requests[0]!.control / 4 + CONTROL.left)
  while (isLate && left() < threads - 1) await host.yieldTask()
  const shares: number[] = []
  try {
    const mark = arena.mark()
    const prepared = { plan: { slots: SLOTS }, weights } as unknown as PreparedModel
    const hasDied = () => early?.death !== undefined
    await loadWeights(
      arena,
      prepared,
      {
        signal,
        yieldTask: () => host.yieldTask(),
        onWeight: (done) => void shares.push(done),
        helpers: { engine, pool: early?.pool, placing, hasDied },
      },
      reserved,
    )
    expect(arena.mark()).toBeLessThanOrEqual(mark)
    expect(arena.u8.subarray(arena.mark()).every((byte) => byte === 0)).toBe(true)
    expect(shares).toEqual([...shares].sort((left, right) => left - right))
    expect(shares.at(-1)).toBe(SLOTS.length)
    return {
      ...reads,
      memory: SLOTS.map(({ bytes: length }, at) => arena.u8.slice(reserved[at], reserved[at]! + length)),
    }
  } finally {
    early?.pool.dispose()
    closeSync(descriptor)
  }
}

/** The weights as JavaScript packs them. */
async function expected(): Promise<Uint8Array[]> {
  const host = nodeHost()
  const source = filledSource('weights.bin', bytes.length, (target, offset) =>
    target.set(bytes.subarray(offset, offset + target.length)),
  )
  const weights = new Map(tensors.map((tensor) => [tensor.name, { ...tensor, source }]))
  const { arena } = await openRuntime({ host, threads: 1, needBytes: WEIGHT_BYTES })
  const slots = await loadWeights(arena, { plan: { slots: SLOTS }, weights } as unknown as PreparedModel)
  return SLOTS.map(({ bytes: length }, at) => arena.u8.slice(slots[at], slots[at]! + length))
}

const isSame = (left: readonly Uint8Array[], right: readonly Uint8Array[]): boolean =>
  left.every((each, index) => Buffer.compare(each, right[index]!) === 0)

test.each([1, 2, 3])('%i threads place the weights as one does alone', async (threads) => {
  const { memory, checked } = await load({ threads })
  expect(isSame(memory, await expected())).toBe(true)
  expect(checked).toBe(0)
})

test('one thread reads every byte once, and the gaps that belong to the chunks', async () => {
  expect((await load({})).unchecked).toBe(bytes.length)
  expect((await load({ sums: [] })).unchecked).toBe(bytes.length - tensors.length * GAP)
})

test('other threads place the weights without the first', async () => {
  const { memory, checked } = await load({ threads: 3, isLate: true })
  expect(isSame(memory, await expected())).toBe(true)
  expect(checked).toBe(0)
})

test('if other threads cannot open the file, the first places everything', async () => {
  const { memory, unchecked } = await load({ threads: 2, entry: join(folder, 'missing') })
  expect(isSame(memory, await expected())).toBe(true)
  expect(unchecked).toBe(bytes.length)
})

test.each([1, 3])('%i threads: after damage, the weights are read in the usual way', async (threads) => {
  const wrong = sums.map((sum, chunk) => (chunk === 1 ? sum ^ 1 : sum))
  const { memory, checked } = await load({ threads, sums: wrong })
  expect(isSame(memory, await expected())).toBe(true)
  expect(checked).toBe(bytes.length - tensors.length * GAP)
})

test('what another thread reads counts: damage that only it sees is found', async () => {
  const file = join(folder, 'other.bin')
  const other = bytes.slice()
  other[CHUNK_BYTES + 10]! ^= 1
  await writeFile(file, other)
  const { memory, checked } = await load({ threads: 2, entry: file, isLate: true })
  expect(checked).toBeGreaterThan(0)
  expect(isSame(memory, await expected())).toBe(true)
})

test('a file that ends early for other threads is read again', async () => {
  const file = join(folder, 'short.bin')
  await writeFile(file, bytes)
  await truncate(file, 5000)
  const { memory, checked } = await load({ threads: 3, entry: file, isLate: true })
  expect(checked).toBeGreaterThan(0)
  expect(isSame(memory, await expected())).toBe(true)
})

test('a row with a scale that the panels cannot have is reported as in the usual way', async () => {
  const file = join(folder, 'infinite.bin')
  const other = bytes.slice()
  other[1] = 0x7c
  other[0] = 0
  await writeFile(file, other)
  await expect(load({ threads: 2, file, sums: [] })).rejects.toMatchObject({ code: 'format' })
})

test('an abort stops all threads with its reason', async () => {
  const abort = new AbortController()
  abort.abort(new Error('stopped by the test'))
  await expect(load({ threads: 3, signal: abort.signal })).rejects.toThrow('stopped by the test')
})
