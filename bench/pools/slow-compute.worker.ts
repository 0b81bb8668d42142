// Slow compute worker. In: what a compute worker is told. Out: the same, every tile three times.
// Imported in this order and without waiting: what is told before the worker listens is lost.
import './slow.ts'
import '../../workers/compute.worker.ts'
