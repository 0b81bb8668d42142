// In: nothing. Out: <halfbyte-chat> as an element of the page.
import { Engine } from '../../engine/api/engine.ts'
import { storedBytes } from '../../engine/api/stored.ts'
import { loadForTabs } from '../../engine/api/tabs/shared-engine.ts'
import type { ModelSource } from '../../engine/api/types.ts'
import { startEmbedderWorker } from '../../engine/wire/embedder-script.ts'
import { HalfbyteChatElement } from './chat-element.ts'
import { EnginePool } from './loading/engine-pool.ts'
import type { Outside } from './loading/loader.ts'

const stored = async (source: ModelSource): Promise<number> =>
  typeof source === 'string' || source instanceof URL || 'repo' in source ? storedBytes(source) : 0

const outside = (load: typeof Engine.load): Outside => ({
  pool: new EnginePool(load),
  probe: (source, options) => Engine.probe(source, options),
  stored,
})

const page = outside((source, options) => Engine.load(source, options))
HalfbyteChatElement.outside = {
  page,
  tabs: outside(loadForTabs),
  // A page with Trusted Types creates one policy for workers, and dist/cdn/embedder.js is a separate copy of
  // the library.
  loadEncoder: async (source, options) => {
    const { Embedder } = await import('../../encoders/embedder/embedder.ts')
    return Embedder.open(startEmbedderWorker(), source, options)
  },
  startPdf: async () => {
    const { startPdfWorker } = await import('../../engine/wire/pdf-script.ts')
    return startPdfWorker()
  },
}

// Another copy of the package on the page may have defined it first.
if (customElements.get('halfbyte-chat') === undefined)
  customElements.define('halfbyte-chat', HalfbyteChatElement)
