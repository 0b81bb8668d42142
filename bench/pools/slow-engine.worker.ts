// Slow engine worker. In: what an engine worker is told. Out: the same, every tile of its own thread three
// times. Imported in this order and without waiting: what is told before the worker listens is lost.
import './slow.ts'
import '../../workers/engine.worker.ts'
