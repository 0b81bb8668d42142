// Opening files. In: a load request of a page. Out: byte sources: what the person picked, or what an address holds.
import { type ByteSource, blobSource } from '../../base/bytes.ts'
import type { HalfbyteError } from '../../base/errors.ts'
import { distrust, trust } from '../../store/device/trust.ts'
import { peekAddress } from '../../store/download/peek.ts'
import { openAddress } from '../../store/open.ts'
import type { FilePeeker } from '../probe/probe.ts'
import type { LoadRequest } from '../wire/protocol.ts'
import type { LoaderHooks } from './loaded-model.ts'

/** A model's files, held open while its weights are read. */
export interface OpenFiles {
  readonly sources: readonly ByteSource[]
  close(): Promise<void>
  /** Takes note that what was read is not a model, so that it is looked at again before it is read again. */
  distrust?(error: HalfbyteError): Promise<void>
  /** Takes note that what was read has matched the hashes in it. */
  trust?(): Promise<void>
}

/** Finds what a request names. Throws `network`, `storage-full`, `format` or the signal's reason. */
export type FileOpener = (
  request: Pick<LoadRequest, 'source' | 'cache' | 'hub'>,
  hooks: LoaderHooks,
) => Promise<OpenFiles>

/** For a page or its worker. Addresses are downloaded, kept on the device when the request says so, and read from there. */
export const openRequestedFiles: FileOpener = async ({ source, cache, hub }, { signal, onProgress }) => {
  const sources =
    typeof source === 'string'
      ? await openAddress(source, {
          signal,
          cache,
          hub,
          onProgress: (progress) => onProgress({ phase: 'download', ...progress }),
        })
      : source.map((file) => blobSource(file.name, file))
  const isStored = typeof source === 'string' && cache !== 'none'
  return {
    sources,
    async close() {
      for (const each of sources) each.close?.()
    },
    ...(isStored && {
      distrust: (error) => distrust(source, error),
      // What was brought again may have come with more, and that was not compared.
      trust: async () => void (sources.some(({ isRenewed }) => isRenewed) || (await trust(source))),
    }),
  }
}

/** The same for headers: nothing is stored, and of an address only what is read is fetched. */
export const peekRequestedFiles: FilePeeker = async ({ source, cache, hub }, { signal }) =>
  typeof source === 'string'
    ? peekAddress(source, { signal, cache, hub })
    : {
        sources: source.map((file) => blobSource(file.name, file)),
        downloadBytes: 0,
        async close() {},
      }
