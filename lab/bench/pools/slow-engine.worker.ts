// An engine worker that computes every tile of its own thread three times. The imports are static and in this
// order, because messages that arrive before the worker listens are lost.
import './slow.ts'
import '../../../workers/engine.worker.ts'
