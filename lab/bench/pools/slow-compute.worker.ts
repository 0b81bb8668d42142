// A compute worker that computes every tile three times. The imports are static and in this order, because
// messages that arrive before the worker listens are lost.
import './slow.ts'
import '../../../workers/compute.worker.ts'
