// `halfbyte/embedder` in Node, where encoders run in this process. The package's condition `node` leads here.
import { Embedder } from './api/embedder/embedder.ts'
import { loadEmbedder } from './cli/models/node-models.ts'

Object.assign(Embedder, { load: loadEmbedder })

export * from './api/embedder/embedder.ts'
