// Worker threads. In: the messages of a compute worker. Out: what the first of them makes it: a thread or a shard.
import { computeThread } from './compute-thread.ts'
import type { WorkerReply, WorkerRequest } from './host.ts'
import { shardThread } from './shards/thread.ts'

/** What a compute worker does with each request; `post` answers the engine. */
export function workerThread(post: (reply: WorkerReply) => void): (request: WorkerRequest) => void {
  const thread = computeThread(post)
  const shard = shardThread(post)
  return (request) => {
    if (request.type === 'start' || request.type === 'serve') thread(request)
    else shard(request)
  }
}
