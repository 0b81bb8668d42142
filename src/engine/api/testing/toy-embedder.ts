// Random encoders for tests. In: a seed. Out: an embedder over the real service, protocol and kernels, in one
// thread, disposed after its test.
import { onTestFinished } from 'vitest'
import { bertFolder, type FolderParts, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { Embedder } from '../../../encoders/embedder/embedder.ts'
import { loadEncoder } from '../../../encoders/service/build-encoder.ts'
import { createEmbedderService } from '../../../encoders/service/embed-service.ts'
import { nodeHost } from '../../../tools/cli/node-host.ts'
import { localConnection } from '../../wire/connection.ts'

/** A random sentence encoder, or a reranker. */
export async function openEncoder(
  seed: number,
  { isReranker = false, ...parts }: FolderParts & { readonly isReranker?: boolean } = {},
): Promise<Embedder> {
  const files = bertFolder(randomBert(seed, { isReranker }), {
    ...(isReranker && { prefix: 'bert.' }),
    ...parts,
  })
  const service = createEmbedderService((request, hooks) => loadEncoder(request, hooks, nodeHost()))
  const embedder = await Embedder.open(localConnection(service), files, { threads: 1 })
  onTestFinished(() => embedder.dispose())
  return embedder
}
