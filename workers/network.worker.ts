// Network worker. In: calls and ports from the page. Out: a network's service, with this worker as its host.

import { browserHost, prepareModule } from '../src/engine/browser-host.ts'
import { serveConnection } from '../src/engine/serve.ts'
import { loadNetwork } from '../src/network/service/load-network.ts'
import { createNetworkService } from '../src/network/service/network-service.ts'

serveConnection(
  createNetworkService((request, hooks) => loadNetwork(request, hooks, browserHost(request.assets))),
  prepareModule,
)
