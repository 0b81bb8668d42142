// Detects WebAssembly features in a page, a worker or a process, and which build to load.
import { HalfbyteError } from '../base/errors.ts'

/** The instructions that a module uses. */
export type Build = 'relaxed' | 'simd128'
/** Whether a module's memory can be shared by threads. */
export type MemoryKind = 'shared' | 'plain'

/** The globals that determine the features. A host passes its own `globalThis`. */
export interface FeatureGlobals {
  readonly WebAssembly?: Pick<typeof WebAssembly, 'validate' | 'Memory'>
  readonly SharedArrayBuffer?: unknown
  /** Undefined outside browsers, where sharing memory needs no isolation. */
  readonly crossOriginIsolated?: boolean
}

export interface Features {
  readonly simd: boolean
  readonly relaxedSimd: boolean
  /** Whether WebAssembly has atomics and this page may create a shared memory. */
  readonly sharedMemory: boolean
}

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
/** A module with one function, which takes no parameters and returns a v128. */
const RETURNS_V128 = [1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0]

/** (i8x16.splat (i32.const 0)) */
const SIMD = [...HEADER, ...RETURNS_V128, 10, 8, 1, 6, 0, 0x41, 0, 0xfd, 15, 0x0b]

/** (i32x4.relaxed_dot_i8x16_i7x16_add_s x x x), where x is a splat of 0. The opcode is 0x113, in LEB128. */
const SPLAT = [0x41, 0, 0xfd, 15]
const RELAXED = [
  ...HEADER,
  ...RETURNS_V128,
  10,
  19,
  1,
  17,
  0,
  ...SPLAT,
  ...SPLAT,
  ...SPLAT,
  0xfd,
  0x93,
  0x02,
  0x0b,
]

/** A shared memory of one page and (drop (i32.atomic.load (i32.const 0))) */
const ATOMICS = [
  ...HEADER,
  1,
  4,
  1,
  0x60,
  0,
  0,
  3,
  2,
  1,
  0,
  5,
  4,
  1,
  3,
  1,
  1,
  10,
  11,
  1,
  9,
  0,
  0x41,
  0,
  0xfe,
  16,
  2,
  0,
  0x1a,
  0x0b,
]

export function detectFeatures(globals: FeatureGlobals): Features {
  const wasm = globals.WebAssembly
  if (wasm === undefined) return { simd: false, relaxedSimd: false, sharedMemory: false }
  const validates = (bytes: readonly number[]): boolean => wasm.validate(new Uint8Array(bytes))
  const mayShare = globals.SharedArrayBuffer !== undefined && globals.crossOriginIsolated !== false
  return {
    simd: validates(SIMD),
    relaxedSimd: validates(RELAXED),
    sharedMemory: mayShare && validates(ATOMICS) && canShare(wasm),
  }
}

/**
 * False if a content security policy forbids WebAssembly. Validation needs no permission, but compilation
 * does.
 */
export async function mayCompile(): Promise<boolean> {
  return WebAssembly.compile(new Uint8Array(HEADER)).then(
    () => true,
    () => false,
  )
}

export const NO_WASM =
  "the page's Content-Security-Policy forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src"

/** Some engines validate atomics but still reject shared memory. */
function canShare(wasm: Pick<typeof WebAssembly, 'Memory'>): boolean {
  try {
    const { buffer } = new wasm.Memory({ initial: 1, maximum: 1, shared: true })
    return !(buffer instanceof ArrayBuffer)
  } catch {
    return false
  }
}

/**
 * The build to load: the requested one, or the fastest that runs here. Throws `unsupported` if WebAssembly
 * has no SIMD, or lacks the requested build's instructions.
 */
export function chooseBuild(features: Features, wanted: Build | 'auto' = 'auto'): Build {
  if (!features.simd) {
    throw new HalfbyteError(
      'unsupported',
      'this browser does not support WebAssembly SIMD; Halfbyte needs Chrome 91, Firefox 89, Safari 16.4, Node 22 or newer',
      { chrome: 91, firefox: 89, safari: 16.4, node: 22 },
    )
  }
  if (wanted === 'auto') return features.relaxedSimd ? 'relaxed' : 'simd128'
  if (wanted === 'relaxed' && !features.relaxedSimd) {
    throw new HalfbyteError(
      'unsupported',
      'the relaxed build needs relaxed SIMD (Chrome 114, Firefox 145, Node 22 or newer); use simd128 or auto here',
      { chrome: 114, firefox: 145, node: 22 },
    )
  }
  return wanted
}
