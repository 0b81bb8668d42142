// Decides and plots whether memory has stopped growing, from samples over time.
import { svgCurves } from '../../src/tools/evaluate/curves.ts'
import type { Census } from './census.ts'
import type { Check } from './rounds.ts'

export interface Sample extends Census {
  /** Minutes since the start. */
  readonly minute: number
  /** Linear memory of the resident engines. */
  readonly wasmBytes: number
}

/** Each model's word cache fills for a while, up to 6 MB, and hot code is compiled again. */
const MAX_HEAP_GROWTH = 3e6
const MAX_RESIDENT_GROWTH = 20e6

/** Compares the last third of the time with the middle third. */
export function trendChecks(samples: readonly Sample[]): Check[] {
  const end = samples.at(-1)?.minute ?? 0
  const third = (index: number) =>
    samples.filter(({ minute }) => minute >= (index * end) / 3 && minute <= ((index + 1) * end) / 3)
  const growth = (of: (sample: Sample) => number) => median(third(2).map(of)) - median(third(1).map(of))
  const bounded = (name: string, bytes: number, most: number): Check => ({
    what: `${name} grows by ${(bytes / 1e6).toFixed(1)} MB in the last third of the time (at most ${most / 1e6})`,
    holds: bytes <= most,
  })
  const wasm = third(2).map(({ wasmBytes }) => wasmBytes)
  const first = samples[1]
  const last = samples.at(-1)
  return [
    bounded(
      'the JavaScript heap',
      growth(({ heapBytes }) => heapBytes),
      MAX_HEAP_GROWTH,
    ),
    bounded(
      'resident memory',
      growth(({ residentBytes }) => residentBytes),
      MAX_RESIDENT_GROWTH,
    ),
    {
      what: `the linear memory of resident engines is constant in the last third (${Math.min(...wasm)} to ${Math.max(...wasm)} bytes)`,
      holds: Math.min(...wasm) === Math.max(...wasm),
    },
    {
      what: `there are as many open files as at the start (${last?.files} and ${first?.files})`,
      holds: (last?.files ?? 0) <= (first?.files ?? 0),
    },
  ]
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** A plot with three lines, megabytes over minutes. */
export function memoryPlot(samples: readonly Sample[]): string {
  const line = (name: string, of: (sample: Sample) => number) => ({
    name,
    points: samples.map((sample) => ({ x: sample.minute, y: of(sample) / 1e6 })),
  })
  const lines = [
    line('resident', ({ residentBytes }) => residentBytes),
    line('JavaScript heap', ({ heapBytes }) => heapBytes),
    line('linear memory', ({ wasmBytes }) => wasmBytes),
  ]
  return svgCurves(lines, { title: 'Memory of the soak', x: 'minutes', y: 'MB', fromZero: true })
}
