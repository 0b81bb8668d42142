// A page that uses the library. The public API, engines for all tabs and faulty workers, accessible to tests.
import { loadForTabs } from '../../src/api/tabs/shared-engine.ts'
import * as library from '../../src/index.ts'
import halting from './halting.worker.ts?worker&url'
import hasty from './hasty.worker.ts?worker&url'
import impatient from './impatient.worker.ts?worker&url'
import mortal from './mortal.worker.ts?worker&url'
import mortalCompute from './mortal-compute.worker.ts?worker&url'
import privateWorker from './private.worker.ts?worker&url'
import silent from './silent.worker.ts?worker&url'
import trapping from './trapping.worker.ts?worker&url'

const scripts = {
  halting,
  hasty,
  impatient,
  mortal,
  mortalCompute,
  private: privateWorker,
  silent,
  trapping,
} as const

declare global {
  var halfbyte: typeof library
  var forTabs: typeof loadForTabs
  var workers: Readonly<Record<keyof typeof scripts, string>>
}

Object.assign(globalThis, { halfbyte: library, forTabs: loadForTabs, workers: scripts })
