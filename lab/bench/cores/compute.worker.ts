// A compute worker that first joins a simulated core, so that it stays within the core's quota.
import { workerData } from 'node:worker_threads'
import { joinCore } from './quota.ts'
import '../../../src/tools/cli/compute-worker.ts'

joinCore(workerData as string)
