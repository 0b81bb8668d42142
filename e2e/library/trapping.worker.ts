// An engine worker whose memory is overwritten on command. In: a command on a channel. Out: the real engine
// worker, until its kernels trap because their records were overwritten.
import '../../workers/engine.worker.ts'

const { Memory } = WebAssembly
const made: WebAssembly.Memory[] = []
WebAssembly.Memory = class extends Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    super(descriptor)
    made.push(this)
  }
}

new BroadcastChannel('trapping').addEventListener('message', () => {
  for (const memory of made) new Uint8Array(memory.buffer).fill(0xff)
})
