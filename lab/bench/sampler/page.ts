// The sampler bench's page: measures a build in this browser when the bench's driver calls.
import relaxed from '../../../dist/wasm/halfbyte-relaxed-plain.wasm?url'
import simd128 from '../../../dist/wasm/halfbyte-simd128-plain.wasm?url'
import type { Build } from '../../../src/core/runtime/features.ts'
import { type Figure, measureSampler } from './measure.ts'

async function measure(build: Build): Promise<Figure[]> {
  return measureSampler(await WebAssembly.compileStreaming(fetch({ relaxed, simd128 }[build])))
}

declare global {
  interface Window {
    measureSampler: typeof measure
  }
}
window.measureSampler = measure
