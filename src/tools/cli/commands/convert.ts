// `halfbyte convert`: turns a model of any format into a .hbm pack, whole or in parts, into GGUF, or into a
// folder with safetensors.
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
import { convertToFolder } from '../write/folder-output.ts'
import {
  type ConvertTarget,
  checkTarget,
  convertToGguf,
  type GgufFormat,
  ggufFormatOption,
  pythonOption,
  targetOf,
  targetOption,
} from '../write/gguf-output.ts'
import { writeParts } from '../write/write-model.ts'

interface ConvertFlags extends Pick<EngineFlags, 'weights' | 'lora' | 'dtype' | 'architecture'>, SparseFlags {
  readonly name?: string
  readonly license?: string
  readonly as?: ConvertTarget
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
      "Write a model as a .hbm pack, with checksums and in the kernels' layout, as GGUF for llama.cpp, or as a Hugging Face folder.",
    )
    .argument('<model>', MODEL)
    .argument('<output>', 'the .hbm or .gguf file to write, or a folder, which ends with a slash')
    .addOption(weightsOption())
    .addOption(dtypeOption())
    .addOption(architectureOption())
    .addOption(loraOption())
    .addOption(sparseOption())
    .addOption(targetOption())
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
  const target = flags.as ?? targetOf(output)
  await checkOutput({ model, output, force: flags.force })
  checkName(output, target)
  checkTarget(output, target, command)
  const { paths, bytes } = await interruptible((signal) =>
    writers[target](model, output, flags, signal),
  ).finally(clearProgress)
  const [first = output] = paths
  const rest = paths.length > 1 ? ` in ${paths.length} files` : ''
  process.stdout.write(`${first}: ${bytes} bytes${rest}\n`)
}

interface Written {
  readonly paths: readonly string[]
  readonly bytes: number
}

type Writer = (model: string, output: string, flags: ConvertFlags, signal: AbortSignal) => Promise<Written>

const writers: Readonly<Record<ConvertTarget, Writer>> = {
  hbm: (...job) => convertToPack(...job),
  gguf: async (...job) => ({ paths: [job[1]], bytes: await convertToGguf(...job) }),
  safetensors: async (...job) => ({ paths: [job[1]], bytes: await convertToFolder(...job) }),
}

function convertToPack(
  model: string,
  output: string,
  flags: ConvertFlags,
  signal: AbortSignal,
): Promise<Written> {
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
    // A pack's tensors are read for their hashes, and again for the file.
    const chunks = writePack(countedContents(contents, 2, writingProgress()), signal)
    await makeFolder(output)
    if (flags.shardSize !== undefined) {
      return writeParts(output, chunks, flags.shardSize, packBytes, signal)
    }
    await writeOutput(output, chunks, signal)
    return { paths: [output], bytes: (await stat(output)).size }
  })
}
