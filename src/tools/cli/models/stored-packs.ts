// Keeps stored GGUF models in the kernels' layout, so that later loads need not convert their weights.
import type { ByteSource } from '../../../core/base/bytes.ts'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import { packBytes } from '../../../core/formats/hbm/hbm.ts'
import { type PackContents, writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import type { Place } from '../../../core/formats/names/named-files.ts'
import { openFiles } from '../../../core/formats/open-files.ts'
import type { Device } from '../../../core/store/device/device.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import type { StoredPart, Version } from '../../../core/store/device/part-file.ts'
import { mendedSource } from '../../../core/store/mended.ts'
import type { LoadProgress } from '../../../engine/api/types.ts'
import type { OpenFiles } from '../../../engine/load/open/requested-files.ts'
import { MOST_OF_FREE, mayHavePack, openPack, packPlace } from '../../../engine/load/pack/stored-pack.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { isUrl } from '../hub-here.ts'
import { nodeHost } from '../node-host.ts'
import { packageVersion } from '../options.ts'

interface PackHooks {
  readonly signal: AbortSignal
  readonly onProgress?: ((event: LoadProgress) => void) | undefined
}

/**
 * Opens the pack of the stored model at `place`, which is made if there is none. If there can be no pack,
 * returns the model's own files, as `open` opens them; it downloads and stores them if needed.
 */
export async function openPacked(
  place: Place,
  device: Device | undefined,
  open: () => Promise<OpenFiles>,
  hooks: PackHooks,
): Promise<OpenFiles> {
  const files = await open()
  // Only downloaded models have packs: files on this machine are not stored.
  if (device === undefined || !isUrl(place) || !mayHavePack(place)) return files
  try {
    const pack = await packOf(device, files, open, hooks)
    if (pack === undefined) return files
    await files.close()
    return pack
  } catch (error) {
    // The model's own files work as well, and a fault in them is reported by the load.
    if (isHalfbyteError(error) && !hooks.signal.aborted) return files
    await files.close()
    throw error
  }
}

async function packOf(
  device: Device,
  files: OpenFiles,
  open: () => Promise<OpenFiles>,
  hooks: PackHooks,
): Promise<OpenFiles | undefined> {
  const store = await ModelStore.open(device)
  const place = store && (await packPlace(store, files.sources, packageVersion()))
  if (store === undefined || place === undefined) return undefined
  const { address, etag } = place
  const opened = async ({ sources }: OpenFiles): Promise<ByteSource | undefined> => {
    const stored = await openPack(store, place)
    if (stored !== undefined) return stored
    const filled = await store.fill(address, (part) => writeStored(part, etag, sources, device, hooks), hooks)
    if (filled?.file === undefined) return undefined
    // The hashes inside are of the bytes that were just written.
    await store.noteChecked(address)
    return openPack(store, place)
  }
  const source = await opened(files)
  if (source === undefined) return undefined
  await store.touch(address)
  // The bytes of a damaged pack are made again. They are the same, because nothing in a pack depends on time.
  const mended = mendedSource(source, async () => {
    await store.remove(address)
    const again = await open()
    const renewed = await opened(again).finally(() => again.close())
    if (renewed !== undefined) return renewed
    throw new HalfbyteError(
      'storage-full',
      'the damaged pack of the model cannot be written again; free some space',
    )
  })
  return {
    sources: [mended],
    close: async () => mended.close?.(),
    distrust: () => store.remove(address),
  }
}

/** Undefined if the pack would take too much of the disk. */
async function writeStored(
  part: StoredPart,
  etag: string,
  sources: readonly ByteSource[],
  device: Device,
  { signal, onProgress }: PackHooks,
): Promise<Version | undefined> {
  const host = nodeHost()
  const file = await openFiles(sources, host, signal)
  const contents = await packContents(await prepareModel(file, { weights: 'auto', forPack: true, signal }), {
    signal,
  })
  let size = 0
  let written = 0
  for await (const chunk of writePack(reporting(contents, onProgress), signal)) {
    if (written === 0) {
      size = packBytes(chunk)
      if (size > MOST_OF_FREE * (await device.room.freeBytes())) return undefined
      await part.begin({ size, etag })
    }
    // Chunks are not finished one by one, because an incomplete pack is made again.
    part.write(written, chunk)
    written += chunk.length
    // Reads from the store are synchronous. Without a pause, the lock could not be touched, nor the work
    // stopped.
    await host.yieldTask()
  }
  return { size, etag }
}

/** Reports each tensor twice: when it is hashed and when it is written. */
function reporting(contents: PackContents, onProgress: PackHooks['onProgress']): PackContents {
  let done = 0
  const total = 2 * contents.tensors.length
  const tensors = contents.tensors.map(({ data, ...tensor }) => ({
    ...tensor,
    async *data() {
      yield* data()
      onProgress?.({ phase: 'convert', done: ++done, total })
    },
  }))
  return { ...contents, tensors }
}
