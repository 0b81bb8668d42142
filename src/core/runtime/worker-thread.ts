// The entry of a compute worker. Its first message decides whether it is a thread or a shard.
import { computeThread, type OpenEntry } from './compute-thread.ts'
import type { ModelRequest, WorkerReply } from './host.ts'
import { shardThread } from './shards/thread.ts'

/** Handles the requests to a compute worker. `post` sends replies to the engine. */
export function workerThread(
  post: (reply: WorkerReply) => void,
  openEntry?: OpenEntry,
): (request: ModelRequest) => void {
  const thread = computeThread(post, openEntry)
  const shard = shardThread(post)
  return (request) => {
    if (request.type === 'start' || request.type === 'serve') void thread(request)
    else shard(request)
  }
}
