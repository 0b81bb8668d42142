// A page that uses the library. In: nothing. Out: the public API, and scripts of workers that fail or lack something, within reach of tests.
import * as library from '../../src/index.ts'
import hastyWorker from './hasty.worker.ts?worker&url'
import mortalWorker from './mortal.worker.ts?worker&url'
import privateWorker from './private.worker.ts?worker&url'

declare global {
  var halfbyte: typeof library
  var workers: { readonly hasty: string; readonly mortal: string; readonly private: string }
}

Object.assign(globalThis, {
  halfbyte: library,
  workers: { hasty: hastyWorker, mortal: mortalWorker, private: privateWorker },
})
