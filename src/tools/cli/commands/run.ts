// `halfbyte run`: computes the outputs of an ONNX graph of any kind for tensors from .npy files.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { GraphDtype } from '../../../core/formats/names/graph-files.ts'
import { mostThreads } from '../../../engine/api/request/load-options.ts'
import type { Network, NetworkFallback } from '../../../network/api/network.ts'
import type { WeightPolicy } from '../../../network/compile/lower/policy.ts'
import type { NetworkResult, NetworkStrings, NetworkTensor } from '../../../network/helpers/tensors.ts'
import { openNetworkAt } from '../models/node-models.ts'
import { dtypeOption, fallbackOption, networkWeightsOption, whole } from '../options.ts'
import { interruptible, systemError, visible } from '../terminal/failure.ts'
import { aligned } from '../terminal/offer.ts'
import { clearProgress, showProgress, writeOutput } from '../terminal/output.ts'
import { makeFolder } from '../write/check-output.ts'
import { npyBytes, readNpy } from '../write/npy.ts'

interface InputFlag {
  readonly name: string
  readonly file: string
}

interface RunFlags {
  readonly input?: readonly InputFlag[]
  readonly output?: string
  readonly dtype?: GraphDtype
  readonly weights?: WeightPolicy
  readonly threads?: number
  readonly fallback?: NetworkFallback
}

export function runCommand(): Command {
  return new Command('run')
    .description('Run an ONNX graph of any kind, such as an encoder, on tensors from .npy files.')
    .argument('<model>', 'an .onnx file, a folder with one, or its URL')
    .option('--input <name=file>', 'a tensor for an input; repeatable', inputFlag)
    .option(
      '--output <folder>',
      'folder for the outputs, one NAME.npy each (strings: NAME.json), created if missing; default: only describe them',
    )
    .addOption(networkWeightsOption())
    .option('--threads <n>', 'threads that share the work', whole(1, mostThreads()), 1)
    .addOption(fallbackOption())
    .addOption(dtypeOption())
    .action((model: string, flags: RunFlags) => interruptible((signal) => run(model, flags, signal)))
}

function inputFlag(text: string, before: readonly InputFlag[] = []): readonly InputFlag[] {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('give NAME=FILE.npy.')
  return [...before, { name: text.slice(0, at), file: text.slice(at + 1) }]
}

async function run(
  model: string,
  { input = [], output, dtype, weights, threads, fallback }: RunFlags,
  signal: AbortSignal,
): Promise<void> {
  const options = { signal, dtype, weights, threads, fallback }
  const how = { signal, dtype, onProgress: showProgress }
  const network = await openNetworkAt(model, options, how).finally(clearProgress)
  try {
    if (input.length === 0) throw noInputs(network)
    const inputs: [string, NetworkTensor][] = []
    for (const { name, file } of input) inputs.push([name, await readTensor(file)])
    if (output !== undefined) await makeFolder(output, output)
    const results = await network.run<NetworkResult>(Object.fromEntries(inputs), { signal })
    const made = Object.entries(results).flatMap(tensorsOf)
    for (const [name, tensor] of made)
      if (output !== undefined)
        await writeOutput(join(output, fileName(name, tensor)), [bytesOf(tensor)], signal)
    const rows = made.map(([name, tensor]): [string, string] => [name, describe(tensor)])
    process.stdout.write(visible(`${aligned(rows).join('\n')}\n`))
    for (const { node, op, reason } of network.foreignNodes())
      process.stderr.write(visible(`onnxruntime-web ran ${node} (${op}): ${reason}\n`))
  } finally {
    await network.dispose()
  }
}

const noInputs = ({ inputs }: Network): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `the model takes ${inputs.map(({ name, dtype, dims }) => `${name} (${dtype} [${dims?.join(', ') ?? '?'}])`).join(', ')}; give each with --input NAME=FILE.npy`,
  )

async function readTensor(file: string): Promise<NetworkTensor> {
  const bytes = await readFile(file).catch((cause) => {
    throw systemError(cause, 'format', `the tensor ${file} cannot be read`, 'check the path')
  })
  return readNpy(file, bytes)
}

type Item = NetworkTensor | NetworkStrings

/** The tensors of a sequence are numbered. */
const tensorsOf = ([name, result]: readonly [string, NetworkResult]): (readonly [string, Item])[] =>
  'dtype' in result ? [[name, result]] : result.map((item, at) => [`${name}.${at}`, item] as const)

/** Output names may contain slashes or anything else. */
const fileName = (name: string, { dtype }: Item): string =>
  `${name.replaceAll(/[^\w.-]/g, '_').replace(/^\.+/, '_')}.${dtype === 'string' ? 'json' : 'npy'}`

const bytesOf = (tensor: Item): Uint8Array =>
  tensor.dtype === 'string' ? new TextEncoder().encode(`${JSON.stringify(tensor)}\n`) : npyBytes(tensor)

const SHOWN = 4

function describe({ dtype, dims, data }: Item): string {
  const first = Array.from({ length: Math.min(SHOWN, data.length) }, (_, at) => {
    const value = data[at]!
    if (typeof value === 'string') return JSON.stringify(value)
    return typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(6) : `${value}`
  })
  return `${dtype} [${dims.join(', ')}]  ${first.join(' ')}${data.length > SHOWN ? ' ...' : ''}`
}
