// Browser features. In: a page's globals, because this function runs inside the page. Out: the browser
// features that the library uses.

/** Features that the library's code paths depend on. */
export interface Facts {
  readonly simd: boolean
  readonly relaxedSimd: boolean
  readonly isolated: boolean
  /** A shared WebAssembly memory can be created and posted to a worker. */
  readonly sharedMemory: boolean
  /** A file can be written to the origin private file system, listed and read back. */
  readonly opfs: boolean
  readonly locks: boolean
  /** Names of newer built-ins, style properties and events that the browser lacks. */
  readonly missing: readonly string[]
}

/** Refers to nothing outside itself, because only its source text is sent to the page. */
export async function collectFacts(): Promise<Facts> {
  const returnsV128 = (...code: number[]) => {
    const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0]
    return new Uint8Array([...header, 10, code.length + 4, 1, code.length + 2, 0, ...code, 0x0b])
  }
  const splat = [0x41, 0, 0xfd, 15]
  const script = (text: string) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  const within = <T>(ms: number, run: (resolve: (value: T) => void) => void, otherwise: T) =>
    new Promise<T>((resolve) => {
      setTimeout(() => resolve(otherwise), ms)
      run(resolve)
    })

  const sharedMemory = await within<boolean>(
    10_000,
    (resolve) => {
      try {
        const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
        const view = new Int32Array(memory.buffer)
        const worker = new Worker(
          script(`onmessage = ({ data }) => {
            Atomics.store(new Int32Array(data.buffer), 0, 7)
            postMessage(0)
          }`),
          { type: 'module' },
        )
        worker.onmessage = () => resolve(Atomics.load(view, 0) === 7)
        worker.onerror = () => resolve(false)
        worker.postMessage(memory)
      } catch {
        resolve(false)
      }
    },
    false,
  )

  const writesOpfs = async () => {
    const root = await navigator.storage.getDirectory()
    const stream = await (await root.getFileHandle('facts', { create: true })).createWritable()
    await stream.write(new Uint8Array([1, 2, 3]))
    await stream.close()
    let listed = false
    for await (const name of root.keys()) listed ||= name === 'facts'
    const { size } = await (await root.getFileHandle('facts')).getFile()
    await root.removeEntry('facts')
    return listed && size === 3
  }

  const offered: Record<string, boolean> = {
    'Promise.withResolvers': 'withResolvers' in Promise,
    'Map.groupBy': 'groupBy' in Map,
    'Array.fromAsync': 'fromAsync' in Array,
    'Array.prototype.findLastIndex': 'findLastIndex' in Array.prototype,
    'Symbol.asyncDispose': 'asyncDispose' in Symbol,
    'MessagePort close event': 'onclose' in MessagePort.prototype,
    'ReadableStream iteration': Symbol.asyncIterator in ReadableStream.prototype,
    DecompressionStream: 'DecompressionStream' in globalThis,
    'WebAssembly.compileStreaming': 'compileStreaming' in WebAssembly,
    'Atomics.waitAsync': 'waitAsync' in Atomics,
    'navigator.storage': 'storage' in navigator,
    'crypto.subtle': crypto.subtle !== undefined,
    'light-dark()': CSS.supports('color', 'light-dark(red, blue)'),
    'field-sizing': CSS.supports('field-sizing', 'content'),
  }
  return {
    simd: WebAssembly.validate(returnsV128(...splat)),
    relaxedSimd: WebAssembly.validate(returnsV128(...splat, ...splat, ...splat, 0xfd, 0x93, 0x02)),
    isolated: globalThis.crossOriginIsolated,
    sharedMemory,
    opfs: await writesOpfs().catch(() => false),
    locks: 'locks' in navigator,
    missing: Object.keys(offered).filter((name) => !offered[name]),
  }
}
