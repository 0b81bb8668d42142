// Network worker. In: calls and ports from the page. Out: the service of a network, with this worker as its
// host.

import { browserHost, prepareModule } from '../src/engine/browser-host.ts'
import { loadNetwork } from '../src/engine/network/load-network.ts'
import { createNetworkService } from '../src/engine/network/network-service.ts'
import { serveConnection } from '../src/engine/serve.ts'

serveConnection(
  createNetworkService((request, hooks) => loadNetwork(request, hooks, browserHost(request.assets))),
  prepareModule,
)
