// A compute worker that fails on command. In: a command on a channel. Out: the real compute worker, until it
// throws or hangs.
import '../../workers/compute.worker.ts'

new BroadcastChannel('mortal-compute').addEventListener(
  'message',
  ({ data }: MessageEvent<'throw' | 'hang'>) => {
    if (data === 'throw') throw new Error('thrown on command')
    // Hangs, until it is terminated from outside.
    for (;;);
  },
)
