// Stores a loaded model's weights as a pack beside the file that they were read from. In: the weights in
// memory, which have the layout of a pack already. Out: a file in the store, or none if there is no room.
import { type Encoding, matrixBytes } from '../../../core/abi/encodings.ts'
import { storedConfig } from '../../../core/arch/config/config-hbm.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { packBytes } from '../../../core/formats/hbm/hbm.ts'
import { type PackContents, type PackTensor, writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import type { MetaObject } from '../../../core/formats/json-files.ts'
import type { WeightSlot } from '../../../core/graph/plan/plan.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { Arena, Ptr } from '../../../core/runtime/memory/arena.ts'
import { storedType } from '../../../core/runtime/row-mover.ts'
import { BROWSER, type Device } from '../../../core/store/device/device.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import type { StoredPart, Version } from '../../../core/store/device/part-file.ts'
import type { LoadedModel } from '../loaded-model.ts'
import type { PackPlace } from '../open/requested-files.ts'
import type { PreparedModel } from '../prepare.ts'
import { MOST_OF_FREE } from './stored-pack.ts'

/** Bytes that are copied, summed and written without a pause: about a millisecond of work. */
const PIECE_BYTES = 1 << 20

/** The contents of a pack of a GGUF's weights, which `addresses` has in memory as `auto` stores them. */
export function placedContents(
  { file, config, plan }: PreparedModel,
  arena: Arena,
  addresses: readonly Ptr[],
): PackContents {
  // A new array for each piece would wait for the garbage collector.
  const passage = new Uint8Array(PIECE_BYTES)
  const { name, tokenizer, generationConfig: generation } = file
  return {
    name,
    config: storedConfig({ ...config, name }) as MetaObject,
    tokenizer,
    generation,
    tensors: plan.slots.flatMap((slot, index) => slotTensors(slot, addresses[index] as Ptr, arena, passage)),
  }
}

/** Each piece of their data is valid until the next one. */
function slotTensors(
  { ref, encoding }: WeightSlot,
  address: Ptr,
  arena: Arena,
  passage: Uint8Array,
): PackTensor[] {
  const isVector = ref.kind === 'vector'
  let end: number = address
  return ref.parts.map(({ name, n }) => {
    const begin = end
    // Only packs have weights without their zeros.
    const bytes = matrixBytes(encoding as Encoding, n, isVector ? 1 : ref.k)
    end += bytes
    function* data() {
      for (let at = 0; at < bytes; at += PIECE_BYTES) {
        const part = arena.u8.subarray(begin + at, begin + Math.min(at + PIECE_BYTES, bytes))
        passage.set(part)
        yield passage.subarray(0, part.byteLength)
      }
    }
    return { name, encoding, shape: isVector ? [n] : [n, ref.k], bytes, data }
  })
}

/** The share of a model's bytes that threads must convert in JavaScript for a pack to be worth its space. */
const LEAST_CONVERTED = 0.1

/**
 * Whether a load from a pack is much faster than from the file. Where all threads move rows as they are
 * stored, it saves about a tenth of the time.
 */
export function isWorthPack({ plan, weights }: Pick<PreparedModel, 'plan' | 'weights'>): boolean {
  let bytes = 0
  let converted = 0
  for (const { ref, encoding } of plan.slots) {
    if (ref.kind === 'vector') continue
    for (const { name } of ref.parts) {
      const { dtype, byteLength } = weightOf(weights, name)
      bytes += byteLength
      if (storedType(dtype, encoding as Encoding) === undefined) converted += byteLength
    }
  }
  return converted >= LEAST_CONVERTED * bytes
}

interface KeepHooks {
  readonly signal: AbortSignal
  /** Resolves in a new task. */
  readonly yieldTask: () => Promise<void>
  /** Resolves in a new task, once the engine has nothing else to do. */
  readonly idle: () => Promise<void>
  /** Default: the browser's. */
  readonly device?: Device | undefined
}

/**
 * Writes the pack. Only computing its hashes waits for idle moments: writing takes a few seconds, and nobody
 * can remove the file meanwhile. Resolves without a pack if it would take too much of the free space, or if
 * another tab has written it. Rejects with `storage-full`, after removing what it has written, or with the
 * signal's reason.
 */
export async function keepPack(
  contents: PackContents,
  { address, etag }: PackPlace,
  { signal, idle, yieldTask, device = BROWSER }: KeepHooks,
): Promise<void> {
  const store = await ModelStore.open(device)
  if (store === undefined || (await store.version(address)) !== undefined) return
  const chunks = writePack(pausing(contents, idle, yieldTask), signal)
  const { value: head } = await chunks.next()
  if (head === undefined) return
  const version = { size: packBytes(head), etag }
  if (version.size > MOST_OF_FREE * (await device.room.freeBytes())) return
  const write = async (part: StoredPart): Promise<Version> => {
    await part.begin(version)
    part.write(0, head)
    let written = head.length
    for await (const chunk of chunks) {
      part.write(written, chunk)
      written += chunk.length
    }
    return version
  }
  try {
    await store.fill(address, write, { signal })
  } catch (error) {
    // An incomplete pack cannot be continued.
    await store.remove(address)
    throw error
  }
  // The hashes inside are of the bytes that were just written.
  await store.noteChecked(address)
}

/** Stores a model's weights once; what a pack needs besides them is then dropped. */
export function packKeeper(
  contents: PackContents,
  place: PackPlace,
  host: Pick<Host, 'yieldTask'>,
): NonNullable<LoadedModel['keepPack']> {
  let left: PackContents | undefined = contents
  return async (signal, whenIdle) => {
    const own = left
    left = undefined
    const yieldTask = () => host.yieldTask()
    const idle = () => whenIdle().then(yieldTask)
    if (own !== undefined) await keepPack(own, place, { signal, idle, yieldTask })
  }
}

/**
 * Waits for `idle` before each piece that is read for its hash, and for `yieldTask` before each that is
 * written.
 */
function pausing(
  contents: PackContents,
  idle: () => Promise<void>,
  yieldTask: () => Promise<void>,
): PackContents {
  const tensors = contents.tensors.map(({ data, ...tensor }) => {
    let isHashed = false
    async function* paused() {
      const pause = isHashed ? yieldTask : idle
      isHashed = true
      for await (const piece of data()) {
        await pause()
        yield piece
      }
    }
    return { ...tensor, data: paused }
  })
  return { ...contents, tensors }
}
