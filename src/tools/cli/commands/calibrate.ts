// `halfbyte calibrate`: shows statistics of each matrix's inputs on a text.
import { Command } from 'commander'
import { type Product, walk } from '../../shrink/calibrate/walk.ts'
import { memoryWork } from '../../shrink/calibrate/work-files.ts'
import type { InputStats } from '../../shrink/matrix/hessian.ts'
import { walkProgress } from '../compress/compress-progress.ts'
import { type CalibrationFlags, readWindows, withCalibrationOptions } from '../compress/compressing.ts'
import { withPrepared } from '../models/model.ts'
import { loadSolver, nodeHost, startSolver } from '../node-host.ts'
import { type EngineFlags, loraOption, MODEL } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, writeOutput } from '../terminal/output.ts'
import { checkReport } from '../write/check-output.ts'

interface CalibrateFlags extends CalibrationFlags, Pick<EngineFlags, 'lora'> {
  readonly output?: string
}

/** The reported statistics of a product's inputs. Lists have one number per input. */
interface Told {
  readonly name: string
  readonly inputs: number
  readonly rows: number
  /** Inputs that are always zero. */
  readonly dead: number
  /** The largest magnitude, and the root mean square over all inputs. */
  readonly peak: number
  readonly rms: number
  readonly means: readonly number[]
  readonly peaks: readonly number[]
  readonly meanSquares: readonly number[]
}

export function calibrateCommand(): Command {
  const command = new Command('calibrate')
    .description('Show statistics of each matrix’s inputs on a text: magnitudes, outliers and unused inputs.')
    .argument('<model>', MODEL)
    .argument('<text file>', 'UTF-8, or .jsonl with a text or messages per line')
    .addOption(loraOption())
    .option('--output <file>', 'write means, largest magnitudes and mean squares of every input as JSON')
  return withCalibrationOptions(command).action(calibrate)
}

async function calibrate(model: string, path: string, flags: CalibrateFlags): Promise<void> {
  await checkReport(flags.output, 'json')
  const prepareFlags = { weights: 'auto', lora: flags.lora, forPack: true } as const
  await interruptible(async (signal) => {
    const told: Told[] = []
    await withPrepared(model, prepareFlags, signal, async (prepared) => {
      const windows = await readWindows(path, prepared, flags)
      await walk(prepared, {
        windows,
        signal,
        host: nodeHost(),
        solver: await loadSolver(),
        startSolver,
        threads: flags.threads,
        work: memoryWork(),
        onProgress: walkProgress(),
        async visit(product, stats) {
          const found = tell(product, await stats())
          told.push(found)
          if (flags.output !== undefined) return undefined
          clearProgress()
          process.stdout.write(visible(`${lineOf(found)}\n`))
          return undefined
        },
      })
    }).finally(clearProgress)
    if (flags.output === undefined) return
    await writeOutput(flags.output, [new TextEncoder().encode(`${JSON.stringify(told)}\n`)], signal)
  })
}

function tell({ name, k }: Product, { rows, gram, means, peaks }: InputStats): Told {
  const meanSquares = Array.from({ length: k }, (_, i) => gram[i * k + i]! / rows)
  return {
    name,
    rows,
    inputs: k,
    dead: meanSquares.filter((square) => square === 0).length,
    peak: Math.max(...peaks),
    rms: Math.sqrt(meanSquares.reduce((sum, square) => sum + square, 0) / k),
    means: [...means],
    peaks: [...peaks],
    meanSquares,
  }
}

const lineOf = ({ name, inputs, rows, dead, peak, rms }: Told): string =>
  `${name}: ${inputs} inputs in ${rows} rows, rms ${rms.toPrecision(3)}, largest ${peak.toPrecision(3)} (${(peak / rms).toFixed(1)} times)${dead > 0 ? `, ${dead} dead` : ''}`
