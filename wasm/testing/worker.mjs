// Starts a compute thread on a shared test module, like workers/.
import { parentPort, workerData } from 'node:worker_threads'

const { module, memory, stackTop, sync, thread, task } = workerData
const { exports } = new WebAssembly.Instance(module, { env: { memory } })
exports.__stack_pointer.value = stackTop
parentPort.postMessage('ready')
if (task === 'serve') exports.serve(sync, thread)
else {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  exports.poison(sync)
}
parentPort.postMessage('done')
