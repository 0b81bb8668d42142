// Embedder worker. In: calls and ports from the page. Out: the service of an embedder, with this worker as
// its host.

import { browserHost, prepareModule } from '../src/engine/browser-host.ts'
import { loadEncoder } from '../src/engine/embed/build-encoder.ts'
import { createEmbedderService } from '../src/engine/embed/embed-service.ts'
import { serveConnection } from '../src/engine/serve.ts'

serveConnection(
  createEmbedderService((request, hooks) => loadEncoder(request, hooks, browserHost(request.assets))),
  prepareModule,
)
