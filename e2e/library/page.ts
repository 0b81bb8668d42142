// A page that uses the library. In: nothing. Out: the public API and faulty workers, accessible to tests.
import * as library from '../../src/index.ts'
import hasty from './hasty.worker.ts?worker&url'
import impatient from './impatient.worker.ts?worker&url'
import mortal from './mortal.worker.ts?worker&url'
import mortalCompute from './mortal-compute.worker.ts?worker&url'
import privateWorker from './private.worker.ts?worker&url'
import silent from './silent.worker.ts?worker&url'

const scripts = { hasty, impatient, mortal, mortalCompute, private: privateWorker, silent } as const

declare global {
  var halfbyte: typeof library
  var workers: Readonly<Record<keyof typeof scripts, string>>
}

Object.assign(globalThis, { halfbyte: library, workers: scripts })
