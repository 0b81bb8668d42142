// Opens an embedder in this process, and compares its vectors with a definition's.
import { Embedder, type EmbedderOptions } from '../../../src/encoders/embedder/embedder.ts'
import { loadEncoder } from '../../../src/encoders/service/build-encoder.ts'
import { createEmbedderService } from '../../../src/encoders/service/embed-service.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'

export async function withEmbedder<T>(
  files: readonly File[],
  options: EmbedderOptions,
  use: (embedder: Embedder) => Promise<T>,
): Promise<T> {
  const service = createEmbedderService((request, hooks) => loadEncoder(request, hooks, nodeHost()))
  const embedder = await Embedder.open(localConnection(service), [...files], { threads: 1, ...options })
  try {
    return await use(embedder)
  } finally {
    await embedder.dispose()
  }
}

/** The largest difference, relative to the vector's length. */
export const distance = (found: ArrayLike<number>, right: Float64Array): number =>
  Math.max(...right.map((value, i) => Math.abs(value - found[i]!))) / Math.hypot(...right)
