// The host in Node: starts worker threads, measures time, and reads the engine's modules.
import { readFile } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Transferable, Worker } from 'node:worker_threads'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { SolvePort } from '../shrink/calibrate/solver/solve-thread.ts'
import { pictureThread } from './pictures/picture-thread.ts'

/** When run from source, scripts are TypeScript and dist/ is elsewhere. */
const FROM_SOURCE = import.meta.url.endsWith('.ts')
const SOLVER = new URL(
  FROM_SOURCE ? '../../../dist/solve/halfbyte-solve.wasm' : './solve/halfbyte-solve.wasm',
  import.meta.url,
)
const WASM_FOLDER = new URL(FROM_SOURCE ? '../../../dist/wasm/' : './cdn/wasm/', import.meta.url)
const COMPUTE_WORKER = new URL(FROM_SOURCE ? './compute-worker.ts' : './compute-worker.js', import.meta.url)
const PICTURE_WORKER = new URL(
  FROM_SOURCE ? './pictures/picture-worker.ts' : './picture-worker.js',
  import.meta.url,
)
const SOLVE_WORKER = new URL(FROM_SOURCE ? './solve-worker.ts' : './solve-worker.js', import.meta.url)

export function nodeHost(options: { wasm?: URL } = {}): Host {
  return {
    globals: globalThis,
    cores: availableParallelism(),
    deviceBytes: totalmem(),
    now: () => performance.now(),
    yieldTask: () => new Promise((resolve) => setImmediate(resolve)),
    loadGguf: () => import('../../core/formats/gguf/open-gguf.ts'),
    loadSafetensors: () => import('../../core/formats/safetensors/open-safetensors.ts'),
    loadFamilies: () => import('../../core/arch/rare/table.ts'),
    loadOnnx: () => import('../../network/onnx/open-model.ts'),
    loadVision: () => import('../../engine/load/vision/vision.ts'),
    loadGraphEncoders: () => import('../../encoders/graph/open-graph-encoder.ts'),
    cutPicture: pictureThread(() => startNodeWorker(PICTURE_WORKER, 'halfbyte picture')),
    startWorker: () => startNodeWorker(COMPUTE_WORKER, 'halfbyte compute'),
    loadModule: (build, memory) =>
      moduleAt(new URL(`halfbyte-${build}-${memory}.wasm`, options.wasm ?? WASM_FOLDER)),
  }
}

/** The solvers' module, which no page loads. Throws `internal` if it is missing. */
export const loadSolver = (): Promise<WebAssembly.Module> => moduleAt(SOLVER)

/**
 * Modules by URL, compiled or being compiled, so that the next engine reuses the code that V8 has optimised.
 */
const modules = new Map<string, Promise<WebAssembly.Module>>()

function moduleAt(file: URL): Promise<WebAssembly.Module> {
  const known = modules.get(file.href)
  if (known !== undefined) return known
  const module = compileFile(file)
  modules.set(file.href, module)
  // The next load tries again.
  module.catch(() => modules.delete(file.href))
  return module
}

async function compileFile(file: URL): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(await readFile(file))
  } catch (cause) {
    throw missingModule(file, cause)
  }
}

const missingModule = (file: URL, cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'internal',
    `the engine's module ${fileURLToPath(file)} cannot be loaded: ${cause instanceof Error ? cause.message : cause}; ` +
      'install the package again, or in its repository run npm run build:wasm',
    { file: fileURLToPath(file) },
    { cause },
  )

/** Starts a thread of the solver. */
export const startSolver = (): SolvePort => startNodeWorker(SOLVE_WORKER, 'halfbyte solve')

interface NodePort<Request, Reply> {
  postMessage(message: Request, transfer?: readonly unknown[]): void
  onMessage(listener: (message: Reply) => void): void
  onError(listener: (error: Error) => void): void
  terminate(): void
}

function startNodeWorker<Request, Reply>(script: URL, name: string): NodePort<Request, Reply> {
  const worker = new Worker(script, { execArgv: [], name })
  let terminated = false
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer as Transferable[]),
    onMessage: (listener) => void worker.on('message', listener),
    onError: (listener) => {
      worker.on('error', (error) => listener(error instanceof Error ? error : new Error(String(error))))
      worker.on('exit', (code) => {
        if (!terminated) listener(new Error(`it ended with code ${code}`))
      })
    },
    terminate: () => {
      terminated = true
      void worker.terminate()
    },
  }
}
