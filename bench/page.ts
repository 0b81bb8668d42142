// The bench page. In: calls from the bench's driver. Out: figures; one engine is loaded at a time, so that none disturbs another.
import { type Case, ENGINES, type EngineName, type Figures } from './engines.ts'

export interface Sample {
  readonly loadMs: number
  readonly memoryBytes: number | undefined
  readonly figures: readonly Figures[]
}

async function measure(
  name: EngineName,
  url: string,
  threads: number,
  cases: readonly Case[],
): Promise<Sample> {
  const engine = await ENGINES[name](url, threads)
  try {
    // Fast code and page faults first: one short run that is not counted.
    await engine.run({ prompt: 16, decode: 2 })
    const figures: Figures[] = []
    for (const one of cases) figures.push(await engine.run(one))
    return { loadMs: engine.loadMs, memoryBytes: await engine.memoryBytes(), figures }
  } finally {
    await engine.dispose()
  }
}

declare global {
  interface Window {
    measure: typeof measure
    isolated: boolean
  }
}
window.measure = measure
window.isolated = crossOriginIsolated
