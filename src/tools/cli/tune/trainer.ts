// Runs the trainer (src/tools/tune/trainer) in Python. In: a job. Out: its events, and the tuned tensors.
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject } from '../../../core/base/values.ts'
import type { NetworkShape } from '../../tune/network-shape.ts'
import type { CurvePoint } from '../../tune/report-page.ts'
import { startPython } from '../run-python.ts'

const TRAINER = import.meta.url.endsWith('.ts') ? '../../tune/trainer/train.py' : './trainer/train.py'

/** Paths are absolute. `undefined` values are absent in the file. */
export interface TrainerJob {
  readonly shape: NetworkShape
  /** Absent: all weights are trained. */
  readonly lora: { readonly rank: number; readonly alpha: number } | undefined
  /** The peak of the learning rate. */
  readonly rate: number
  /** AdamW's weight decay. */
  readonly decay: number
  readonly epochs: number
  /** Sequences per step. */
  readonly batch: number
  readonly seed: number
  /** Default: torch's own choice. */
  readonly threads: number | undefined
  /** safetensors of the model, and of the result. */
  readonly weights: string
  readonly output: string
  /** JSON lines of sequences: what is learned, and what is only measured. */
  readonly train: string
  readonly held: string
  readonly checkpoint: string
}

interface TrainerEvents {
  /** Two steps were timed: `seconds` for the whole training, of which `step` steps are done already. */
  onPace(seconds: number, step: number): void
  onStep(step: number, steps: number, loss: number): void
}

/**
 * Trains, continuing from a checkpoint if there is one. Returns the loss curve. If the signal is aborted, the
 * trainer writes a checkpoint before the signal's reason is thrown. Throws `unsupported` if it fails.
 */
export async function runTrainer(
  python: string,
  jobPath: string,
  job: TrainerJob,
  { onPace, onStep }: TrainerEvents,
  signal: AbortSignal,
): Promise<readonly CurvePoint[]> {
  await writeFile(jobPath, JSON.stringify(job))
  signal.throwIfAborted()
  const { child, failure } = startPython(python, [fileURLToPath(new URL(TRAINER, import.meta.url)), jobPath])
  // The trainer stops when its stdin ends, also if this process is killed.
  const stop = () => void child.stdin?.end()
  signal.addEventListener('abort', stop)
  let curve: readonly CurvePoint[] | undefined
  /** Why it failed, with the next step. */
  let reason: string | undefined
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const event = eventOf(line)
    const { step = 0, steps = 1, loss = Number.NaN, seconds = 0 } = event
    if (event.event === 'pace') onPace(seconds, step)
    if (event.event === 'step') onStep(step, steps, loss)
    if (event.event === 'done') curve = event.curve
    if (event.event === 'failed') reason = event.message
  })
  const why = await failure.finally(() => signal.removeEventListener('abort', stop))
  signal.throwIfAborted()
  if (why === undefined && curve !== undefined) return curve
  throw new HalfbyteError(
    'unsupported',
    `the training failed: ${reason ?? `${why ?? 'it ended early'}; check the free memory, train with a smaller --batch or --context, or continue with --resume`}`,
  )
}

interface TrainerEvent {
  readonly event?: string
  readonly step?: number
  readonly steps?: number
  readonly loss?: number
  readonly seconds?: number
  readonly curve?: readonly CurvePoint[]
  readonly message?: string
}

/** torch may print other lines. */
function eventOf(line: string): TrainerEvent {
  try {
    const value = parseJson(line)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
