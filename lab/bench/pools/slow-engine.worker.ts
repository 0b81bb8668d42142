// An engine worker that computes every tile of its own thread three times. Imports in this order and without
// waiting, because messages are lost before the worker listens.
import './slow.ts'
import '../../../workers/engine.worker.ts'
