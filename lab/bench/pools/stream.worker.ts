// Measures how many milliseconds a worker takes to read bytes from its own memory.
import { SYNC_WORDS } from '../../../src/core/abi/constants.ts'
import { LIMIT, LIMIT_CODE, LIMIT_WORDS } from '../roofline/kernels.ts'

export type StreamRequest = { readonly module: string; readonly room: number } | { readonly bytes: number }

interface Exports {
  readonly __heap_base: WebAssembly.Global
  run(
    sync: number,
    record: number,
    step: number,
    first: number,
    last: number,
    thread: number,
    of: number,
  ): number
}

/** Passes over the bytes. */
const ROUNDS = 4

let memory: WebAssembly.Memory
let engine: Exports

async function open(module: string, room: number): Promise<void> {
  memory = new WebAssembly.Memory({ initial: Math.ceil(room / 65536) + 64, maximum: 65536 })
  const { instance } = await WebAssembly.instantiate(await (await fetch(module)).arrayBuffer(), {
    env: { memory },
  })
  engine = instance.exports as unknown as Exports
  // The first touch of the memory.
  new Uint8Array(memory.buffer, base(), room).fill(1)
}

const base = (): number => Math.ceil(Number(engine.__heap_base.value) / 4096) * 4096 + 4096

function read(bytes: number): number {
  const sync = base() - 4096
  const record = sync + SYNC_WORDS * 4
  const words = new Uint32Array(memory.buffer)
  words.fill(0, sync / 4, record / 4 + LIMIT_WORDS)
  words[record / 4 + LIMIT.code] = LIMIT_CODE.read_eight
  words[record / 4 + LIMIT.address] = base()
  words[record / 4 + LIMIT.bytes] = bytes
  words[record / 4 + LIMIT.rounds] = ROUNDS
  const start = performance.now()
  engine.run(sync, record, 0, 0, 1, 0, 1)
  return (performance.now() - start) / ROUNDS
}

self.addEventListener('message', async ({ data }: MessageEvent<StreamRequest>) => {
  if ('module' in data) await open(data.module, data.room)
  self.postMessage('bytes' in data ? read(data.bytes) : 0)
})
