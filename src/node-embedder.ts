// `halfbyte/embedder` in Node, where encoders run in this process. The package's export condition `node`
// selects this file.
import { Embedder } from './encoders/embedder/embedder.ts'
import { loadEmbedder } from './tools/cli/models/node-models.ts'

Object.assign(Embedder, { load: loadEmbedder })

export * from './encoders/embedder/embedder.ts'
