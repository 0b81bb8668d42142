// An engine worker that dies on command. In: a command on a channel. Out: the real engine service, until it
// throws or closes.

import { browserHost } from '../../src/engine/browser-host.ts'
import { loadModel } from '../../src/engine/load/load-model.ts'
import { serveConnection } from '../../src/engine/serve.ts'
import { createService } from '../../src/engine/service.ts'

serveConnection(
  createService((request, hooks) => loadModel(request, hooks, browserHost(request.assets))),
  () => undefined,
)

new BroadcastChannel('mortal').addEventListener('message', ({ data }: MessageEvent<'throw' | 'close'>) => {
  if (data === 'close') self.close()
  else throw new Error('thrown on command')
})
