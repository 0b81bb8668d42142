// A page that uses the library. In: the public API, networks, encoders, engines shared by tabs, and faulty
// workers. Out: globals for tests.
import { Embedder } from '../../src/encoders/embedder/embedder.ts'
import { loadForTabs } from '../../src/engine/api/tabs/shared-engine.ts'
import * as library from '../../src/index.ts'
import { Network } from '../../src/network/api/network.ts'
import compute from '../../workers/compute.worker.ts?worker&url'
import network from '../../workers/network.worker.ts?worker&url'
import collecting from './collecting.worker.ts?worker&url'
import halting from './halting.worker.ts?worker&url'
import hasty from './hasty.worker.ts?worker&url'
import impatient from './impatient.worker.ts?worker&url'
import mortal from './mortal.worker.ts?worker&url'
import mortalCompute from './mortal-compute.worker.ts?worker&url'
import privateWorker from './private.worker.ts?worker&url'
import silent from './silent.worker.ts?worker&url'
import trapping from './trapping.worker.ts?worker&url'

const scripts = {
  collecting,
  halting,
  hasty,
  impatient,
  mortal,
  mortalCompute,
  compute,
  network,
  private: privateWorker,
  silent,
  trapping,
} as const

declare global {
  var halfbyte: typeof library
  var forTabs: typeof loadForTabs
  var networks: typeof Network
  var embedders: typeof Embedder
  var workers: Readonly<Record<keyof typeof scripts, string>>
}

Object.assign(globalThis, {
  halfbyte: library,
  forTabs: loadForTabs,
  networks: Network,
  embedders: Embedder,
  workers: scripts,
})
