// The host of a page: starts workers, measures time, and fetches the engine's modules.
import { HalfbyteError, reasonOf } from '../core/base/errors.ts'
import { toldReader } from '../core/formats/readers.ts'
import {
  type Build,
  chooseBuild,
  detectFeatures,
  type MemoryKind,
  mayCompile,
  NO_WASM,
} from '../core/runtime/features.ts'
import type { ComputePort, Host, WorkerReply } from '../core/runtime/host.ts'
import { deviceNotes } from '../core/store/device/notes.ts'

/**
 * A message from an engine worker to its page. `script`: an absolute address; default: the library's own
 * script.
 */
export type ToPage =
  | {
      readonly type: 'compute-start'
      readonly number: number
      readonly script: string | undefined
      readonly port: MessagePort
    }
  | { readonly type: 'compute-end'; readonly number: number }

/** A message from the page to its engine worker. */
export type ToEngine = { readonly type: 'compute-failed'; readonly number: number; readonly why: string }

/** The first and only message from the page to a compute worker. */
export interface ComputeStart {
  readonly port: MessagePort
}

let started = 0

/** The engine worker's side: requests another compute worker and returns a port to it. */
function startComputeWorker(script?: string): ComputePort {
  const number = ++started
  const { port1, port2 } = new MessageChannel()
  const stopListening = new AbortController()
  const post = (message: ToPage, transfer: Transferable[] = []) =>
    globalThis.postMessage(message, { transfer })
  post({ type: 'compute-start', number, script, port: port2 }, [port2])
  return {
    postMessage: (message, transfer = []) => port1.postMessage(message, transfer),
    onMessage: (listener) => {
      port1.onmessage = ({ data }: MessageEvent<WorkerReply>) => listener(data)
    },
    onError: (listener) => {
      port1.onmessageerror = () => listener(new Error('a message from it could not be read'))
      globalThis.addEventListener(
        'message',
        ({ data }: MessageEvent<ToEngine | undefined>) => {
          if (data?.type === 'compute-failed' && data.number === number) listener(new Error(data.why))
        },
        { signal: stopListening.signal },
      )
    },
    terminate: () => {
      stopListening.abort()
      port1.close()
      post({ type: 'compute-end', number })
    },
  }
}

/** Absolute addresses of files at another location, for a strict Content Security Policy or a CDN. */
export interface HostAssets {
  /** Folder of the engine's `halfbyte-*.wasm`. */
  readonly wasm?: string | undefined
  /** Script of the compute workers. */
  readonly compute?: string | undefined
}

/** Bundlers look for these expressions to find files, so each is written out in full. */
const MODULES: Readonly<Record<`${Build}-${MemoryKind}`, () => URL>> = {
  'relaxed-shared': () => new URL('../../dist/wasm/halfbyte-relaxed-shared.wasm', import.meta.url),
  'relaxed-plain': () => new URL('../../dist/wasm/halfbyte-relaxed-plain.wasm', import.meta.url),
  'simd128-shared': () => new URL('../../dist/wasm/halfbyte-simd128-shared.wasm', import.meta.url),
  'simd128-plain': () => new URL('../../dist/wasm/halfbyte-simd128-plain.wasm', import.meta.url),
}

/** For a worker whose page starts its compute workers (`attendComputeWorkers`). */
export function browserHost(assets: HostAssets = {}): Host {
  return {
    globals: globalThis,
    cores: Math.max(1, navigator.hardwareConcurrency ?? 1),
    deviceBytes: deviceBytes(),
    notes: deviceNotes(`${navigator.hardwareConcurrency} ${navigator.userAgent}`),
    now: () => performance.now(),
    yieldTask: taskYielder(),
    loadModule: (build, memory) => moduleAt(moduleAddress(build, memory, assets)),
    loadGguf: () => loadReader('GGUF', new URL('../../dist/readers/gguf.js', import.meta.url)),
    loadSafetensors: () =>
      loadReader('safetensors', new URL('../../dist/readers/safetensors.js', import.meta.url)),
    loadFamilies: () =>
      loadReader('further families', new URL('../../dist/readers/families.js', import.meta.url)),
    loadOnnx: () => loadReader('ONNX', new URL('../../dist/readers/onnx.js', import.meta.url)),
    loadVision: () => loadReader('vision', new URL('../../dist/readers/vision.js', import.meta.url)),
    loadGraphEncoders: () =>
      loadReader('ONNX encoders', new URL('../../dist/readers/encoders.js', import.meta.url)),
    startWorker: () => startComputeWorker(assets.compute),
  }
}

/**
 * The device's memory, rounded to a power of two in GiB and capped at 8 by browsers. Only Chromium reports
 * it.
 */
function deviceBytes(): number | undefined {
  const { deviceMemory } = navigator as { readonly deviceMemory?: number }
  return deviceMemory === undefined || deviceMemory >= 8 ? undefined : deviceMemory * 2 ** 30
}

function moduleAddress(build: Build, memory: MemoryKind, { wasm }: HostAssets): URL {
  if (wasm === undefined) return MODULES[`${build}-${memory}`]()
  return new URL(`halfbyte-${build}-${memory}.wasm`, wasm.replace(/\/?$/, '/'))
}

/** A separate module: bundlers copy it as a file, and leave the import to the browser. */
async function loadReader<Reader>(format: string, { href }: URL): Promise<Reader> {
  try {
    await import(/* @vite-ignore */ /* webpackIgnore: true */ href)
    const reader = toldReader(format)
    if (reader === undefined) throw new Error('it is another script')
    return reader as Reader
  } catch (cause) {
    throw new HalfbyteError(
      'network',
      `the part of the library that reads ${format}, ${href}, did not load: ${reasonOf(cause)}; check that the ` +
        'build has this file and that the page may load scripts from there',
      { address: href },
      { cause },
    )
  }
}

/** Modules by address, compiled or being compiled. */
const modules = new Map<string, Promise<WebAssembly.Module>>()

function moduleAt(address: URL): Promise<WebAssembly.Module> {
  const known = modules.get(address.href)
  if (known !== undefined) return known
  const module = loadModule(address)
  modules.set(address.href, module)
  // The next load will try again.
  module.catch(() => modules.delete(address.href))
  return module
}

/** Fetches and compiles the module that a load with the default options uses here. */
export function prepareModule(assets: HostAssets): void {
  const features = detectFeatures(globalThis)
  if (!features.simd) return
  const memory = features.sharedMemory && navigator.hardwareConcurrency > 1 ? 'shared' : 'plain'
  moduleAt(moduleAddress(chooseBuild(features), memory, assets)).catch(() => undefined)
}

/**
 * One of the engine's modules, for code that runs modules without a host. In Node, the files are next to the
 * library.
 */
export const engineModule = (
  build: Build,
  memory: MemoryKind,
  assets: HostAssets = {},
): Promise<WebAssembly.Module> => moduleAt(moduleAddress(build, memory, assets))

/** Node's `process`, which can read the files that its `fetch` cannot. */
interface NodeProcess {
  getBuiltinModule(name: 'fs/promises'): { readFile(address: URL): Promise<Uint8Array<ArrayBuffer>> }
}

async function loadModule(address: URL): Promise<WebAssembly.Module> {
  try {
    const { process } = globalThis as { readonly process?: NodeProcess }
    if (address.protocol === 'file:' && process !== undefined)
      return await WebAssembly.compile(await process.getBuiltinModule('fs/promises').readFile(address))
    const response = await fetch(address)
    if (!response.ok) throw new Error(`the server answered ${response.status}`)
    const typed = response.headers.get('content-type')?.startsWith('application/wasm') === true
    if (typed) return await WebAssembly.compileStreaming(response)
    return await WebAssembly.compile(await response.arrayBuffer())
  } catch (cause) {
    if (!(await mayCompile())) throw new HalfbyteError('unsupported', NO_WASM, {}, { cause })
    throw new HalfbyteError(
      'network',
      `the engine's module ${address.href} cannot be loaded: ${reasonOf(cause)}; ` +
        'check the address or give assets.wasm the folder that holds it',
      { address: address.href },
      { cause },
    )
  }
}

/** A message to itself is the fastest way to start a new task, because timers are clamped to 4 ms. */
function taskYielder(): () => Promise<void> {
  const channel = new MessageChannel()
  const waiting: (() => void)[] = []
  channel.port1.onmessage = () => waiting.shift()?.()
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      channel.port2.postMessage(undefined)
    })
}
