// The compute worker in Node: runs the engine's kernels or a network's functions until the pool is closed.
import { parentPort } from 'node:worker_threads'
import { functionThread, isFunctionRequest } from '../../core/runtime/functions/function-thread.ts'
import type { WorkerReply, WorkerRequest } from '../../core/runtime/host.ts'
import { workerThread } from '../../core/runtime/worker-thread.ts'
import { openHandle } from './store/disk-folder.ts'

const post = (reply: WorkerReply): void => parentPort?.postMessage(reply)
const model = workerThread(post, async (path) => openHandle(String(path), 'r'))
const network = functionThread(post)

parentPort?.on('message', (request: WorkerRequest) =>
  isFunctionRequest(request) ? network(request) : model(request),
)
