// Embedder worker. In: calls and ports from the page. Out: an embedder's service, with this worker as its
// host.

import { loadEncoder } from '../src/encoders/service/build-encoder.ts'
import { createEmbedderService } from '../src/encoders/service/embed-service.ts'
import { browserHost, prepareModule } from '../src/engine/browser-host.ts'
import { serveConnection } from '../src/engine/serve.ts'

serveConnection(
  createEmbedderService((request, hooks) => loadEncoder(request, hooks, browserHost(request.assets))),
  prepareModule,
)
