// Opens the files that a page's load request names: files that the user picked, or files at an address.
import { type ByteSource, blobSource } from '../../../core/base/bytes.ts'
import { type HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import { type GraphFiles, graphsAmong } from '../../../core/formats/names/graph-files.ts'
import type { Place } from '../../../core/formats/names/named-files.ts'
import { distrust, trust } from '../../../core/store/device/load-marks.ts'
import { peekAddress } from '../../../core/store/download/peek.ts'
import { type OpenOptions, openAddress } from '../../../core/store/open-address.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import type { LoaderHooks } from '../loaded-model.ts'

/** Where a pack is, or may be stored. */
export interface PackPlace {
  readonly address: string
  /** Changes with the model's files, and with what makes packs. */
  readonly etag: string
}

/** A model's files, held open while its weights are read. */
export interface OpenFiles {
  readonly sources: readonly ByteSource[]
  close(): Promise<void>
  /** Records that the content was not a valid model, so that it is checked again before its next use. */
  distrust?(error: HalfbyteError): Promise<void>
  /** Records that the content matched the hashes in it. */
  trust?(): Promise<void>
  /** Where the weights may be stored as a pack. Absent if they need none, or cannot have one. */
  readonly packPlace?: PackPlace | undefined
  /** True for a pack that was made on this device. After `distrust`, the model's own files are opened. */
  readonly isCopy?: boolean | undefined
}

/**
 * Finds the files that a request names. Throws `network`, `storage-full`, `format` or the signal's reason.
 */
export type FileOpener = (
  request: Pick<LoadRequest, 'source' | 'cache' | 'hub' | 'dtype'> &
    Partial<Pick<LoadRequest, 'weights' | 'lora' | 'vision' | 'architecture'>> &
    Pick<OpenOptions, 'wants'>,
  hooks: LoaderHooks,
) => Promise<OpenFiles>

/**
 * Runs `work` with a function that opens files with the request's options. They are closed when it ends,
 * unless it calls `keep`, which returns the function that closes them, and distrusted if it ends with a typed
 * error.
 */
export async function withFiles<Result>(
  openFiles: FileOpener,
  request: LoadRequest,
  hooks: LoaderHooks,
  work: (
    open: (source: LoadRequest['source']) => Promise<OpenFiles>,
    keep: () => () => Promise<void>,
  ) => Promise<Result>,
): Promise<Result> {
  const opened: OpenFiles[] = []
  const close = async () => {
    for (const files of opened) await files.close()
  }
  let isKept = false
  const keep = () => {
    isKept = true
    return close
  }
  try {
    return await work(async (source) => {
      const files = await openFiles({ ...request, source }, hooks)
      opened.push(files)
      return files
    }, keep)
  } catch (error) {
    if (isHalfbyteError(error)) for (const files of opened) await files.distrust?.(error)
    throw error
  } finally {
    if (!isKept) await close()
  }
}

/** A model's files, from which only headers are read. */
export interface PeekedFiles {
  readonly sources: readonly ByteSource[]
  /** Bytes that a load would have to download. */
  readonly downloadBytes: number
  /** The graphs that a load chooses from. Absent if there is no choice. */
  readonly graphs?: (() => Promise<readonly GraphFiles[]>) | undefined
  close(): Promise<void>
}

/** Finds the files that a request names. Throws `network`, `format`, `unsupported` or the signal's reason. */
export type FilePeeker = (
  request: Pick<LoadRequest, 'source' | 'cache' | 'hub' | 'dtype'>,
  hooks: Pick<LoaderHooks, 'signal'>,
) => Promise<PeekedFiles>

/**
 * For a page or its worker. Addresses are downloaded, stored on the device if requested, and read from there.
 */
export const openRequestedFiles: FileOpener = async (
  { source, cache, hub, dtype, wants },
  { signal, onProgress },
) =>
  typeof source === 'string'
    ? openAddressedFiles(source, { signal, cache, hub, dtype, wants, onProgress })
    : { sources: source.map((file) => blobSource(file.name, file)), async close() {} }

/** The files at an address, downloaded and stored as `options` say. */
export async function openAddressedFiles(address: Place, options: OpenOptions): Promise<OpenFiles> {
  const { cache, device } = options
  const sources = await openAddress(address, options)
  return {
    sources,
    async close() {
      for (const each of sources) each.close?.()
    },
    ...(cache !== 'none' && {
      distrust: (error) => distrust(address, error, device),
      // A file that was downloaded again may have more parts, and those have not been compared.
      trust: async () => void (sources.some(({ isRenewed }) => isRenewed) || (await trust(address, device))),
    }),
  }
}

/**
 * Like `openRequestedFiles`, for headers: nothing is stored, and only the bytes that are read are fetched.
 */
export const peekRequestedFiles: FilePeeker = async ({ source, cache, hub, dtype }, { signal }) =>
  typeof source === 'string'
    ? peekAddress(source, { signal, cache, hub, dtype })
    : {
        sources: source.map((file) => blobSource(file.name, file)),
        downloadBytes: 0,
        graphs: async () => graphsAmong(source),
        async close() {},
      }
