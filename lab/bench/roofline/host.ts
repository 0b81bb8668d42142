// A browser or Node host with the modules of wasm/limits instead of the engine's.
import type { Build, MemoryKind } from '../../../src/core/runtime/features.ts'
import type { Host } from '../../../src/core/runtime/host.ts'

/** Bundlers find files through these expressions, so each is written out. */
const MODULES: Readonly<Record<`${Build}-${MemoryKind}`, () => URL>> = {
  'relaxed-shared': () => new URL('../../../build/limits/halfbyte-relaxed-shared.wasm', import.meta.url),
  'relaxed-plain': () => new URL('../../../build/limits/halfbyte-relaxed-plain.wasm', import.meta.url),
  'simd128-shared': () => new URL('../../../build/limits/halfbyte-simd128-shared.wasm', import.meta.url),
  'simd128-plain': () => new URL('../../../build/limits/halfbyte-simd128-plain.wasm', import.meta.url),
}

/** `host` with other modules. `read` gets a module's bytes, by default with fetch. */
export function limitsHost(host: Host, read: (url: URL) => Promise<BufferSource> = fetchBytes): Host {
  return {
    ...host,
    loadModule: async (build, memory) => WebAssembly.compile(await read(MODULES[`${build}-${memory}`]())),
  }
}

async function fetchBytes(url: URL): Promise<ArrayBuffer> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url.href} answered ${response.status}; run npm run build:wasm`)
  return response.arrayBuffer()
}
