// Tests features. In: this process's globals, complete and with parts removed. Out: the detected features and
// the chosen build.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import { chooseBuild, detectFeatures } from './features.ts'

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) ? error.code : 'other'
  }
}

test('Node 22 and newer have all features', () => {
  const features = detectFeatures(globalThis)
  expect(features).toEqual({ simd: true, relaxedSimd: true, sharedMemory: true })
  expect(chooseBuild(features)).toBe('relaxed')
  expect(chooseBuild(features, 'simd128')).toBe('simd128')
})

test('a page that is not cross-origin isolated cannot share memory', () => {
  const page = { WebAssembly, SharedArrayBuffer, crossOriginIsolated: false }
  expect(detectFeatures(page).sharedMemory).toBe(false)
  expect(detectFeatures({ WebAssembly }).sharedMemory).toBe(false)
})

test('an engine that rejects relaxed modules gets the simd128 build', () => {
  const rejectsRelaxed = (bytes: BufferSource) =>
    !(bytes instanceof Uint8Array && bytes.includes(0x93)) && WebAssembly.validate(bytes)
  const features = detectFeatures({
    WebAssembly: { Memory: WebAssembly.Memory, validate: rejectsRelaxed },
    SharedArrayBuffer,
  })
  expect(features).toEqual({ simd: true, relaxedSimd: false, sharedMemory: true })
  expect(chooseBuild(features)).toBe('simd128')
  expect(codeOf(() => chooseBuild(features, 'relaxed'))).toBe('unsupported')
})

test('without SIMD the error names the browsers that have it', () => {
  expect(codeOf(() => chooseBuild(detectFeatures({})))).toBe('unsupported')
  expect(() => chooseBuild(detectFeatures({}))).toThrow(/Chrome 91, Firefox 89, Safari 16\.4/)
})
