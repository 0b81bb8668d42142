// An engine worker that pauses at a step. In: the step's name and its number, in the script's fragment. Out:
// the real engine worker, which tells the page when it reaches the step, and then waits to be terminated.
import '../../workers/engine.worker.ts'

const asked = new URLSearchParams(self.location.hash.slice(1))
let left = Number(asked.get('nth'))

function step(name: string): void {
  if (name !== asked.get('step') || --left !== 0) return
  self.postMessage({ type: 'halted' })
  // Blocks the worker in the middle of its work, the state in which a kill may find it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const { fetch } = globalThis
globalThis.fetch = async (...how) => {
  step('request')
  const response = await fetch(...how)
  step('answer')
  return response
}

/** File extensions: `json`, `part` and `bin` for the store, none for notes. */
const ending = (entry: string): string => /\.(\w+)$/.exec(entry)?.[1] ?? 'note'

// TypeScript's DOM library lacks the APIs that only workers have.
interface Handle {
  [call: string]: (...how: unknown[]) => unknown
}
const files = FileSystemFileHandle.prototype as unknown as Handle & FileSystemFileHandle
const { createSyncAccessHandle } = files
files['createSyncAccessHandle'] = async function (this: FileSystemFileHandle, ...how) {
  const kind = ending(this.name)
  step(`open ${kind}`)
  const handle = (await createSyncAccessHandle!.apply(this, how)) as Handle
  for (const call of ['read', 'write', 'truncate', 'flush', 'close'] as const) {
    const work = handle[call]!.bind(handle)
    handle[call] = (...how) => {
      step(`${call} ${kind}`)
      return work(...how)
    }
  }
  return handle
}
const folders = FileSystemDirectoryHandle.prototype
const { removeEntry } = folders
folders.removeEntry = async function (...how) {
  step(`remove ${ending(how[0])}`)
  return removeEntry.apply(this, how)
}

const ports = MessagePort.prototype as unknown as Handle
const { postMessage } = ports
ports['postMessage'] = function (this: MessagePort, ...how) {
  const { type, progress } = Object(how[0])
  if (type === 'progress') step(progress.phase)
  if (type === 'chunk') step('chunk')
  return postMessage!.apply(this, how)
}
