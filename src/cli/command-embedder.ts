// Loads an encoder for the command line, in this process.
import { existsSync, statSync } from 'node:fs'
import { Embedder } from '../api/embedder/embedder.ts'
import { HalfbyteError } from '../base/errors.ts'
import { loadEncoder } from '../engine/embed/build-encoder.ts'
import { createEmbedderService } from '../engine/embed/embed-service.ts'
import type { FileOpener } from '../engine/load/open/requested-files.ts'
import { localConnection } from '../engine/wire/connection.ts'
import type { WeightPolicy } from '../weights/choose-encoding.ts'
import { isUrl, openModelFiles, placeOf } from './files.ts'
import { nodeHost } from './node-host.ts'
import { clearProgress, showProgress } from './terminal/output.ts'

export interface EncoderFlags {
  readonly maxTokens?: number
  readonly threads: number | 'auto'
  readonly weights: WeightPolicy
}

/** A local folder of sentence-transformers has files that may be missing. */
const openFiles: FileOpener = ({ source }, { signal, onProgress }) => {
  const place = String(source)
  if (place.endsWith('.json') && !isUrl(place) && !existsSync(place)) {
    throw new HalfbyteError('format', `there is no file ${place}; download the model again`, {
      missing: true,
    })
  }
  return openModelFiles(place, { signal, onProgress })
}

/** Loads a sentence encoder or a reranker. If the signal is aborted, it rejects with its reason. */
export async function openEmbedder(
  model: string,
  { maxTokens, threads, weights }: EncoderFlags,
  signal: AbortSignal,
): Promise<Embedder> {
  const place = await placeOf(model)
  const isFolder = !isUrl(place) && existsSync(place) && statSync(place).isDirectory()
  const service = createEmbedderService(async (request, hooks) =>
    loadEncoder(request, hooks, nodeHost(), async (each, own) => openFiles(each, own)),
  )
  const source = isFolder && !place.endsWith('/') ? `${place}/` : place
  const options = { signal, threads, weights, maxTokens, onProgress: showProgress }
  return Embedder.open(localConnection(service), source, options).finally(clearProgress)
}
