// Compute worker. In: a port to the worker of an engine or a network, from the page. Out: runs kernels or
// functions on requests through it, until the pool ends.
import { functionThread } from '../src/core/runtime/functions/function-thread.ts'
import type { WorkerReply, WorkerRequest } from '../src/core/runtime/host.ts'
import { workerThread } from '../src/core/runtime/worker-thread.ts'
import { type FolderEntry, openSyncReader } from '../src/core/store/device/sync-file.ts'
import type { ComputeStart } from '../src/engine/browser-host.ts'

const openEntry = (entry: unknown) => openSyncReader(entry as FolderEntry)

self.addEventListener('message', ({ data: { port } }: MessageEvent<ComputeStart>) => {
  const post = (reply: WorkerReply) => port.postMessage(reply)
  // The first request decides whether the worker computes for a model or a network.
  let handle: ((request: never) => void) | undefined
  // The page sees this as a failed script and notifies the engine.
  port.onmessageerror = () => {
    throw new Error('a message could not be read')
  }
  port.onmessage = ({ data }: MessageEvent<WorkerRequest>) => {
    handle ??= data.type === 'functions' ? functionThread(post) : workerThread(post, openEntry)
    handle(data as never)
  }
})
