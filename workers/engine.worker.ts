// Engine worker. In: calls and ports from the page. Out: the engine service, with this worker as its host.

import { browserHost, prepareModule } from '../src/engine/browser-host.ts'
import { loadModel } from '../src/engine/load/load-model.ts'
import { peekRequestedFiles } from '../src/engine/load/open/requested-files.ts'
import { probeModel } from '../src/engine/probe/probe.ts'
import { serveConnection } from '../src/engine/serve.ts'
import { createService } from '../src/engine/service.ts'

serveConnection(
  createService(
    (request, hooks) => loadModel(request, hooks, browserHost(request.assets)),
    (request, hooks) => probeModel(request, hooks, browserHost(request.assets), peekRequestedFiles),
  ),
  prepareModule,
)
