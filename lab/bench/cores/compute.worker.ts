// A compute worker that joins a simulated core first, and so keeps within the core's quota.
import { workerData } from 'node:worker_threads'
import { joinCore } from './quota.ts'
import '../../../src/tools/cli/compute-worker.ts'

joinCore(workerData as string)
