// Opening files. In: a load request of a page. Out: byte sources: what the person picked, or what an address holds.
import { blobSource } from '../base/bytes.ts'
import { openAddress } from '../store/open.ts'
import { peekAddress } from '../store/peek.ts'
import { distrust, trust } from '../store/trust.ts'
import type { FileOpener } from './model.ts'
import type { FilePeeker } from './probe.ts'

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
