// halfbyte convert. In: a model in any format. Out: one .hbm pack, its tensors quantised and in kernel layout.
import { stat } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { packContents } from '../engine/pack-model.ts'
import { writePack } from '../formats/hbm-writer.ts'
import type { SparsePolicy } from '../weights/sparse/choose.ts'
import { interruptible } from './interrupt.ts'
import { withPrepared } from './model.ts'
import { type EngineFlags, MODEL, weightsOption } from './options.ts'
import { writeOutput } from './output.ts'

interface ConvertFlags extends Pick<EngineFlags, 'weights'> {
  readonly name?: string
  readonly license?: string
  readonly sparse: SparsePolicy
}

export function convertCommand(): Command {
  return new Command('convert')
    .description('Write a model as a .hbm pack: checked by hashes and ready for the kernels as it is.')
    .argument('<model>', MODEL)
    .argument('<output>', 'the .hbm file to write')
    .addOption(weightsOption())
    .addOption(sparseOption())
    .option('--name <name>', "the model's name; default: its own")
    .option('--license <text>', 'licence to state in the pack')
    .action(convert)
}

async function convert(model: string, output: string, flags: ConvertFlags): Promise<void> {
  await interruptible((signal) =>
    withPrepared(model, flags, signal, async (prepared) => {
      const about = flags.license === undefined ? undefined : { license: flags.license }
      const contents = await packContents(prepared, {
        ...{ name: flags.name, about, sparse: flags.sparse, signal },
        onChoice: (matrix, encoding, why) => process.stdout.write(`${matrix}: ${encoding}, ${why}\n`),
      })
      await writeOutput(output, writePack(contents, signal), signal)
    }),
  )
  process.stdout.write(`${output}: ${(await stat(output)).size} bytes\n`)
}

function sparseOption(): Option {
  return new Option('--sparse <format>', 'store matrices without their zeros; auto does where that is faster')
    .choices(['auto', 'none', 'sb84', 'sv32', 'sp24', 'ls16'])
    .default('auto')
}
