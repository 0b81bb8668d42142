// A site whose tabs share one engine and open and close, including the leader. Reports whether everything
// that they used was released.

import { Engine } from '../../src/engine/api/engine.ts'
import { loadRequest } from '../../src/engine/api/request/load-request.ts'
import { localHost } from '../../src/engine/api/tabs/local-host.ts'
import { endingWith, TabService } from '../../src/engine/api/tabs/tab-service.ts'
import type { LoadOptions } from '../../src/engine/api/types.ts'
import { localConnection } from '../../src/engine/wire/connection.ts'
import { nodeService } from '../conformance/testing/node-engine.ts'
import type { Random } from '../helpers/random.ts'
import type { SoakModel } from './models.ts'
import { Operations } from './operations.ts'

const MAX_TABS = 4
/**
 * Saved sessions are Blobs. Node's BroadcastChannel, unlike a browser's, refuses one when three tabs listen.
 */
const FILES = ['save', 'restore']

interface Tab {
  readonly service: TabService
  readonly engine: Engine
  readonly operations: Operations
  /** Resolves when the tab's work has ended. */
  readonly work: Promise<void>
}

interface SiteReport {
  readonly tabs: readonly Operations[]
  /** The models that leaders loaded. */
  readonly loads: number
  /** Whether two tabs led at the same time, with the model in memory twice. */
  readonly isSplit: boolean
}

let sites = 0

/**
 * Opens tabs, each with its own conversations, and closes most of them in the middle of their work. The first
 * tab leads and closes first, so the next leader loads the model and answers the pending requests.
 */
export async function site(model: SoakModel, options: LoadOptions, random: Random): Promise<SiteReport> {
  const name = `soak ${sites++}`
  const every: Operations[] = []
  const open: Tab[] = []
  let loads = 0
  let isSplit = false
  let leader: TabService | undefined
  const enter = async (): Promise<void> => {
    const tab: TabService = new TabService(name, (onProgress, onDeath) => {
      loads++
      isSplit ||= open.some(({ service }) => service === leader)
      leader = tab
      const hooks = { onProgress, onDeath, onNeed: () => undefined }
      return localHost(localConnection(nodeService()), loadRequest([...model.files], options), hooks)
    })
    const connection = endingWith(localConnection(tab.service), tab)
    const engine = await Engine.open(connection, [...model.files], options)
    const operations = new Operations(engine, random, model, FILES)
    every.push(operations)
    const work = operations.perform(random.between(5, 40), random.between(1, 3))
    open.push({ service: tab, engine, operations, work })
  }
  const leave = async (): Promise<void> => {
    // The tab that has been open longest leads.
    const [tab] = open.splice(random.chance(0.5) ? 0 : random.below(open.length), 1)
    if (tab === undefined) return
    if (random.chance(0.4)) await tab.work
    tab.operations.stop()
    await tab.engine.dispose()
    await tab.work
    await tab.operations.end()
  }
  for (let left = random.between(3, 8); left > 0; left--) {
    if (open.length === 0 || (open.length < MAX_TABS && random.chance(0.6))) await enter()
    else await leave()
  }
  while (open.length > 0) await leave()
  return { tabs: every, loads, isSplit }
}
