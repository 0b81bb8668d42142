// The libraries of docs/compared.md as an application would use them: the packages to install and the module
// to build.

/** One library in one version, with the part of its build that a chat page downloads. */
export interface Peer {
  readonly name: string
  /** Packages of the npm registry with exact versions; none for Halfbyte, which is this tree's own build. */
  readonly packages: readonly string[]
  /** A module that uses the parts a chat needs. */
  readonly entry: string
  /** The built scripts that such a page downloads; all of them by default. */
  readonly scripts?: RegExp
  /** WebAssembly modules, by path below node_modules; a page downloads one of them. */
  readonly modules: readonly { readonly path: string; readonly where: string }[]
}

const ORT = 'onnxruntime-web/dist/ort-wasm-simd-threaded'

export const PEERS: readonly Peer[] = [
  {
    name: 'Halfbyte',
    packages: [],
    entry: "import { Engine } from 'halfbyte'\nglobalThis.used = Engine",
    // The library, its workers and the reader of GGUF files; other readers and constraints load on request.
    scripts: /(?:^|\/)(?:entry|engine\.worker|compute\.worker|gguf)-/,
    modules: [
      { path: 'halfbyte/dist/cdn/wasm/halfbyte-relaxed-shared.wasm', where: 'Chromium, Firefox' },
      { path: 'halfbyte/dist/cdn/wasm/halfbyte-simd128-shared.wasm', where: 'Safari' },
    ],
  },
  {
    name: 'wllama',
    packages: ['@wllama/wllama@3.13.0', '@wllama/wllama-compat@3.13.0'],
    entry: "import { Wllama } from '@wllama/wllama'\nglobalThis.used = Wllama",
    modules: [
      { path: '@wllama/wllama/esm/wasm/wllama.wasm', where: 'Chromium, Firefox' },
      { path: '@wllama/wllama-compat/wasm/wllama.wasm', where: 'Safari' },
    ],
  },
  {
    name: 'transformers.js',
    packages: [
      '@huggingface/transformers@4.3.2',
      'onnxruntime-web@1.31.0-dev.20260914-8d85527a0',
      'onnxruntime-common@1.31.0-dev.20260911-2a43ec07e',
    ],
    entry: "import { pipeline } from '@huggingface/transformers'\nglobalThis.used = pipeline",
    modules: [
      { path: `${ORT}.asyncify.wasm`, where: 'by default' },
      { path: `${ORT}.wasm`, where: 'Safari before 26 without WebGPU' },
    ],
  },
  {
    name: 'ONNX Runtime Web',
    packages: ['onnxruntime-web@1.30.0', 'onnxruntime-common@1.30.0'],
    entry: "import { InferenceSession } from 'onnxruntime-web/wasm'\nglobalThis.used = InferenceSession",
    modules: [{ path: `${ORT}.wasm`, where: 'everywhere' }],
  },
  {
    name: 'web-llm',
    packages: ['@mlc-ai/web-llm@0.2.86', 'loglevel@1.9.2'],
    entry: "import { CreateMLCEngine } from '@mlc-ai/web-llm'\nglobalThis.used = CreateMLCEngine",
    modules: [],
  },
]

/** Splits `@scope/name@1.2.3` into name and version. Throws if the version is not exact. */
export function nameAndVersion(spec: string): { name: string; version: string } {
  const [, name, version] = /^(.+)@(\d+\.\d+\.\d+[\w.-]*)$/.exec(spec) ?? []
  if (name === undefined || version === undefined)
    throw new Error(`${spec} is not an exact version; write it as name@1.2.3`)
  return { name, version }
}
