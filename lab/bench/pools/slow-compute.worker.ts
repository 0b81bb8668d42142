// A compute worker that computes every tile three times. Imports in this order and without waiting, because
// messages are lost before the worker listens.
import './slow.ts'
import '../../../workers/compute.worker.ts'
