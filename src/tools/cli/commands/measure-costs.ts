// `halfbyte measure-costs`: times a model's products in sparse formats on this machine, for `prune --costs`.
import { cpus } from 'node:os'
import { Command, Option } from 'commander'
import { COST_FORMATS, type CostTable } from '../../../core/weights/sparse/cost-table.ts'
import { measureCosts } from '../../shrink/costs/measure-costs.ts'
import { withPrepared } from '../models/model.ts'
import { nodeHost } from '../node-host.ts'
import { buildOption, type EngineFlags, MODEL, whole } from '../options.ts'
import { interruptible } from '../terminal/failure.ts'
import { clearProgress, shareProgress, writeOutput } from '../terminal/output.ts'

interface MeasureFlags extends Pick<EngineFlags, 'build'> {
  readonly weights: 'w8' | 'w4'
  readonly threads: number
  readonly position: number
  readonly samples: number
}

export function measureCostsCommand(): Command {
  return new Command('measure-costs')
    .description(
      "Time a model's matrix products on this machine, dense and sparse, for halfbyte prune --costs.",
    )
    .argument('<model>', MODEL)
    .argument('<output>', 'the .json file to write')
    .addOption(
      new Option('--weights <format>', 'the precision to measure').choices(['w8', 'w4']).default('w4'),
    )
    .option('--threads <n>', 'threads that compute', whole(1), 1)
    .addOption(buildOption())
    .option('--position <n>', 'positions in the context before the timed token', whole(0), 128)
    .option('--samples <n>', 'samples per format and sparsity; the fastest tenth counts', whole(1), 40)
    .action(measure)
}

async function measure(model: string, output: string, flags: MeasureFlags): Promise<void> {
  const { weights, build, threads, position, samples } = flags
  const show = shareProgress()
  await interruptible(async (signal) => {
    const table = await withPrepared(model, { weights, forPack: true }, signal, (prepared) =>
      measureCosts(prepared, {
        host: nodeHost(),
        signal,
        build,
        threads,
        position,
        samples,
        format: `${weights}_g32`,
        machine: `${cpus()[0]?.model.trim() ?? 'an unknown processor'}, Node ${process.versions.node}`,
        onProgress: (done, total) => show(`measuring, ${done} of ${total}`, done / total),
      }),
    ).finally(clearProgress)
    await writeOutput(output, [new TextEncoder().encode(`${JSON.stringify(table, undefined, 1)}\n`)], signal)
    process.stdout.write(summaryOf(table))
  })
}

/** How much faster each matrix is with half of its weights than with all. */
function summaryOf({ restMs, matrices }: CostTable): string {
  const lines = matrices.map(({ n, k, denseMs, ...curves }) => {
    const gains = COST_FORMATS.map((name) => {
      const ms = curves[name].find(([kept]) => kept === 0.5)?.[1] ?? Number.NaN
      return `${name} at 50 % ${(denseMs / ms).toFixed(2)} times as fast`
    })
    return `${n} x ${k}: ${denseMs.toPrecision(3)} ms; ${gains.join(', ')}\n`
  })
  return `${lines.join('')}rest of a token: ${restMs.toPrecision(3)} ms\n`
}
