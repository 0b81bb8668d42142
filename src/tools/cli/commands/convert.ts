// `halfbyte convert`: turns a model of any format into a .hbm pack, whole or in parts, or into GGUF.
import { stat } from 'node:fs/promises'
import { Command } from 'commander'
import { packBytes } from '../../../core/formats/hbm/hbm.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import { withPrepared } from '../models/model.ts'
import {
  architectureOption,
  dtypeOption,
  type EngineFlags,
  loraOption,
  MODEL,
  type SparseFlags,
  size,
  sparseOption,
  weightsOption,
} from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, overwrite, writeOutput } from '../terminal/output.ts'
import { checkName, checkOutput, forceOption, makeFolder } from '../write/check-output.ts'
import { countedContents, writingProgress } from '../write/counted-contents.ts'
import {
  checkGgufOptions,
  convertToGguf,
  type GgufFormat,
  ggufFormatOption,
  isGguf,
  pythonOption,
} from '../write/gguf-output.ts'
import { writeParts } from '../write/write-model.ts'

interface ConvertFlags extends Pick<EngineFlags, 'weights' | 'lora' | 'dtype' | 'architecture'>, SparseFlags {
  readonly name?: string
  readonly license?: string
  readonly format?: GgufFormat
  readonly python?: string
  readonly shardSize?: number
  readonly force?: true
  readonly verbose?: true
}

/** Smaller parts would cost more in requests than they save. */
const MIN_SHARD_BYTES = 1e6

export function convertCommand(): Command {
  return new Command('convert')
    .description(
      "Write a model as a .hbm pack, with checksums and in the kernels' layout, or as GGUF for llama.cpp.",
    )
    .argument('<model>', MODEL)
    .argument('<output>', 'the .hbm or .gguf file to write')
    .addOption(weightsOption())
    .addOption(dtypeOption())
    .addOption(architectureOption())
    .addOption(loraOption())
    .addOption(sparseOption())
    .addOption(ggufFormatOption())
    .addOption(pythonOption())
    .option('--name <name>', "the model's name; default: its own")
    .option(
      '--shard-size <size>',
      'split the pack into files of this size, like 64MB: output-00001-of-00003.hbm and so on',
      size(MIN_SHARD_BYTES),
    )
    .option('--license <text>', 'licence to record in the output')
    .option('--verbose', 'show how each matrix is stored, and why')
    .addOption(forceOption())
    .action(convert)
}

async function convert(model: string, output: string, flags: ConvertFlags, command: Command): Promise<void> {
  await checkOutput({ model, output, force: flags.force })
  checkName(output, isGguf(output) ? 'gguf' : 'hbm')
  checkGgufOptions(output, command)
  const { paths, bytes } = await interruptible(async (signal) =>
    isGguf(output)
      ? { paths: [output], bytes: await convertToGguf(model, output, flags, signal) }
      : convertToPack(model, output, flags, signal),
  ).finally(clearProgress)
  const [first = output] = paths
  const rest = paths.length > 1 ? ` in ${paths.length} files` : ''
  process.stdout.write(`${first}: ${bytes} bytes${rest}\n`)
}

function convertToPack(
  model: string,
  output: string,
  flags: ConvertFlags,
  signal: AbortSignal,
): Promise<{ readonly paths: readonly string[]; readonly bytes: number }> {
  return withPrepared(model, { ...flags, forPack: true }, signal, async (prepared) => {
    const about = flags.license === undefined ? undefined : { license: flags.license }
    if (flags.sparse !== 'none') overwrite('looking for zeros')
    const contents = await packContents(prepared, {
      name: flags.name,
      about,
      sparse: flags.sparse,
      signal,
      onChoice: (matrix, encoding, why) => {
        if (flags.verbose) clearProgress()
        if (flags.verbose) process.stdout.write(visible(`${matrix}: ${encoding}, ${why}\n`))
      },
    })
    // Its tensors are read for their hashes, and again for the file.
    const chunks = writePack(countedContents(contents, 2, writingProgress()), signal)
    await makeFolder(output)
    if (flags.shardSize !== undefined) {
      return writeParts(output, chunks, flags.shardSize, packBytes, signal)
    }
    await writeOutput(output, chunks, signal)
    return { paths: [output], bytes: (await stat(output)).size }
  })
}
