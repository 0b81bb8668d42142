// llama.cpp's addon. In: the file of node-llama-cpp's platform package. Out: the parts used here,
// initialised.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

export interface Context {
  init(): Promise<boolean>
  initBatch(size: number): void
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  /** All ids; or, if probabilities are requested, ids and probabilities alternating. */
  sampleToken(row: number, sampler: Sampler): Promise<number>
  sampleToken(row: number, sampler: Sampler, probabilities: true): Promise<[number, number[]]>
  /** The pooled vector of the first sequence, which has `tokens` tokens; its first `most` values. */
  getEmbedding(tokens: number, most?: number): Float64Array
  disposeSequence(sequence: number): void
  dispose(): Promise<void>
}
export interface Sampler {
  applyConfig(config: object): void
}
export interface Model {
  init(): Promise<boolean>
  dispose(): Promise<void>
}
export interface Addon {
  readonly AddonModel: new (path: string, options: object) => Model
  readonly AddonContext: new (model: Model, options: object) => Context
  readonly AddonSampler: new (model: Model) => Sampler
  markLoaded(): boolean
  setLogger(logger: (level: number, text: string) => void): void
  loadBackends(folder?: string): void
  getGpuType(): string | false | undefined
  init(): Promise<void>
}

/** `log` receives llama.cpp's messages. */
export async function startAddon(path: string, log: (text: string) => void): Promise<Addon> {
  const addon: Addon = createRequire(import.meta.url)(path)
  addon.markLoaded()
  addon.setLogger((_, text) => log(text))
  // Without a folder, llama.cpp does not find backends that the package has in separate files.
  addon.loadBackends()
  if (addon.getGpuType() === undefined) addon.loadBackends(dirname(path))
  await addon.init()
  return addon
}

/** A model's file, opened. Throws when llama.cpp cannot load it. */
export async function openAddonModel(addon: Addon, path: string): Promise<Model> {
  const model = new addon.AddonModel(path, { addonExports: addon, gpuLayers: 0, useMmap: true })
  if (!(await model.init())) throw new Error(`llama.cpp cannot load ${path}`)
  return model
}
