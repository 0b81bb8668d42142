// Starts an engine with a model of a shape, or reports why it cannot.
import { fileURLToPath } from 'node:url'
import { halfFile, modelFile } from '../model-file.ts'
import type { Shape } from '../shapes.ts'
import { addonPath, type Package, packageOf } from './catalogue.ts'
import { type EngineKind, isHalfbyte, type LoadOrder } from './engines.ts'
import { type Runner, runInPage, runNative } from './host/runner.ts'
import type { Site } from './host/site.ts'
import { type GraphForm, onnxFiles } from './onnx/write.ts'

/** The current version of an engine. */
export interface Identity {
  readonly version: string
  readonly fingerprint: string
}

/** Halfbyte is built from the working tree, so tables show no version. */
const OWN_VERSION = ''

/** Undefined if its package is not installed. */
export async function identify(kind: EngineKind, site: Site): Promise<Identity | undefined> {
  if (isHalfbyte(kind)) return { version: OWN_VERSION, fingerprint: site.fingerprint }
  const found = await packageOf(kind)
  return found && { version: found.version, fingerprint: found.version }
}

/** Writes the files that the engines read, unless they exist. */
export async function prepareFiles(shape: Shape, kinds: readonly EngineKind[]): Promise<void> {
  const gguf = await modelFile(shape)
  for (const kind of kinds) {
    const form = formOf(kind)
    if (form === undefined) await ggufOf(kind, shape)
    else await onnxFiles(gguf, shape, form)
  }
}

const formOf = ({ model }: EngineKind): GraphForm | undefined =>
  model.startsWith('onnx-') ? (model.slice('onnx-'.length) as GraphForm) : undefined

const ggufOf = ({ model }: EngineKind, shape: Shape): Promise<URL> =>
  model === 'gguf-f16' ? halfFile(shape) : modelFile(shape)

/** Throws the engine's errors. */
export async function startEngine(
  kind: EngineKind,
  shape: Shape,
  threads: number,
  site: Site,
): Promise<Runner> {
  const gguf = await ggufOf(kind, shape)
  const { layers, kvHeads, headDim } = shape
  return startWith(kind, threads, site, {
    path: fileURLToPath(gguf),
    served: () => served(kind, shape, gguf, site),
    state: { layers, kvHeads, headDim },
  })
}

interface EngineFiles {
  readonly path: string
  /** Makes the files available to pages. */
  served(): Promise<Pick<LoadOrder, 'modelUrl' | 'dataUrls'>>
  readonly state: LoadOrder['state']
}

/** Throws the engine's errors, or that its package is not installed. */
export async function startWith(
  kind: EngineKind,
  threads: number,
  site: Site,
  { path, served, state }: EngineFiles,
): Promise<Runner> {
  const found = kind.packageName === undefined ? undefined : installed(kind, await packageOf(kind))
  if (kind.place === 'process')
    return runNative({ modelPath: path, addonPath: addonPath(installed(kind, found)), threads })
  const packageUrl = found && site.add(kind.name, found.folder)
  return runInPage(site.url, { engine: kind.name, threads, state, packageUrl, ...(await served()) })
}

async function served(
  kind: EngineKind,
  shape: Shape,
  gguf: URL,
  site: Site,
): Promise<Pick<LoadOrder, 'modelUrl' | 'dataUrls'>> {
  const root = new URL('.', gguf)
  const folder = site.add('models', fileURLToPath(root))
  const address = (file: URL) => `${folder}/${file.pathname.slice(root.pathname.length)}`
  const form = formOf(kind)
  if (form === undefined) return { modelUrl: address(gguf) }
  const { model, data } = await onnxFiles(gguf, shape, form)
  return { modelUrl: address(model), dataUrls: data.map(address) }
}

function installed(kind: EngineKind, found: Package | undefined): Package {
  if (found === undefined) throw new Error(`${kind.packageName} is not installed`)
  return found
}
