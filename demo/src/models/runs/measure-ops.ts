// Op measurements. In: the model in use. Out: each op's time and this device's limit for it, for decoding one
// token and prefilling several.
import { analyse, type StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import { PAGE } from '../../../../lab/bench/roofline/jobs.ts'
import { type RunHooks, runRoofline } from '../../../../lab/bench/roofline/run.ts'
import { resolveSource } from '../../../../src/ui/chat/library.ts'
import { loadOptions, type Used } from '../model-slot.ts'
import { choiceSource } from '../models.ts'

/**
 * Loads the model a second time, in a worker that ends after the measurement. Rejects with the worker's
 * reason, or with the signal's.
 */
export async function measureOps(
  { engine, choice, settings }: Used,
  weightBytes: number,
  hooks: RunHooks,
): Promise<readonly StepAnalysis[]> {
  const source = choiceSource(choice)
  const model = typeof source === 'string' ? resolveSource(source, document.baseURI) : source
  const { weights, kvCache } = loadOptions(choice, settings)
  const measured = await runRoofline(
    model,
    {
      ...PAGE,
      builds: [engine.build],
      threads: [engine.threads],
      sets: setsFor(weightBytes),
      weights,
      kvCache,
      waits: false,
    },
    hooks,
  )
  return analyse(measured)
}

/**
 * The working sets that matter for a model of this size: all up to the first that holds its weights.
 */
function setsFor(weightBytes: number): readonly number[] {
  const holding = PAGE.sets.findIndex((bytes) => bytes >= weightBytes)
  return holding < 0 ? PAGE.sets : PAGE.sets.slice(0, holding + 1)
}
