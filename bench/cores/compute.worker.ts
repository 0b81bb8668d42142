// A compute worker on a simulated core. In: the core's folder, then what a compute worker is told. Out: the
// same as a compute worker does, within the core's quota.
import { workerData } from 'node:worker_threads'
import { joinCore } from './quota.ts'
import '../../src/cli/compute-worker.ts'

joinCore(workerData as string)
