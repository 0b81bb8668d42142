// `halfbyte inspect`: describes a model, its tensors and its memory, and prints its plan on request.
import { Command, InvalidArgumentError, Option } from 'commander'
import { wrongOption } from '../../../core/base/check-options.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import type { SamplerOptions } from '../../../core/generate/sampler/sampler-options.ts'
import { printPlan } from '../../../core/graph/plan/print.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { NETWORK_WEIGHTS } from '../../../network/compile/lower/policy.ts'
import { readNetwork } from '../../../network/compile/open-network.ts'
import { outlineOf } from '../../../network/compile/staged/outline.ts'
import { evaluateDim } from '../../../network/onnx/ir/dims.ts'
import { probeEngine } from '../command-engine.ts'
import { openModelFiles } from '../files.ts'
import { withPrepared } from '../models/model.ts'
import { type ModelFacts, modelFacts } from '../models/model-facts.ts'
import {
  architectureOption,
  dtypeOption,
  type EngineFlags,
  fallbackOption,
  kvOption,
  loraOption,
  MODEL,
  weightsOption,
  withContextOption,
} from '../options.ts'
import { flagOf } from '../sampler-flags.ts'
import { interruptible, visible, visibleLine } from '../terminal/failure.ts'
import { needs, unused, withIgnored } from '../terminal/notes.ts'
import { aligned, bytesText, describeFit } from '../terminal/offer.ts'

const jsonText = (value: unknown): string => JSON.stringify(value, undefined, 2)

interface InspectFlags
  extends Pick<EngineFlags, 'weights' | 'context' | 'kv' | 'lora' | 'dtype' | 'architecture'> {
  readonly plan?: true
  readonly size?: ReadonlyMap<string, number>
  readonly fallback?: 'ort'
  readonly fit?: true
  readonly json?: true
}

export function inspectCommand(): Command {
  const command = new Command('inspect')
    .description('Show architecture, parameters, tensors with their encodings, and memory per context.')
    .argument('<model>', MODEL)
    .addOption(weightsOption())
    .addOption(dtypeOption())
    .addOption(architectureOption())
    .addOption(loraOption())
    .addOption(kvOption())
    .option('--plan', 'show every op of a step with its shapes and bytes')
    .option(
      '--size <name=count>',
      'with --plan, for a graph that is not a decoder: a size of its inputs, such as batch=1; default 1 each',
      sizeFlag,
    )
    .addOption(fallbackOption())
    .option('--fit', 'say whether it fits this machine, how fast it would be, and what would fit instead')
    .addOption(new Option('--json', 'print the report as one JSON object').conflicts('plan'))
    .action(async (model: string, flags: InspectFlags) => {
      const page = await interruptible((signal) => pageOf(model, flags, signal))
      process.stdout.write(visible(page.endsWith('\n') ? page : `${page}\n`))
    })
  return withIgnored(withContextOption(command), [
    needs('size', '--plan'),
    needs('fallback', '--plan'),
    unused('fit', '--plan'),
  ])
}

async function pageOf(model: string, flags: InspectFlags, signal: AbortSignal): Promise<string> {
  if (flags.plan === true) return planPage(model, flags, signal)
  if (flags.fit === true) {
    const report = await probeEngine(model, flags, signal)
    return flags.json ? jsonText(report) : describeFit(report)
  }
  const facts = await withPrepared(model, flags, signal, async (prepared) => modelFacts(prepared))
  return flags.json ? jsonText(facts) : describe(facts)
}

/** The plan of a decoder's step, or of any other graph. */
async function planPage(model: string, flags: InspectFlags, signal: AbortSignal): Promise<string> {
  try {
    return await withPrepared(model, flags, signal, async (prepared) => describePlan(prepared))
  } catch (error) {
    if (!isHalfbyteError(error) || error.code !== 'unsupported') throw error
    const page = await networkPage(model, flags, signal)
    if (page === undefined) throw error
    return `no decoder: ${error.message}\n\n${page}`
  }
}

/** Undefined if the files have no graph. */
async function networkPage(
  model: string,
  { size = new Map(), dtype, weights, fallback }: InspectFlags,
  signal: AbortSignal,
): Promise<string | undefined> {
  const files = await openModelFiles(model, { signal, dtype })
  try {
    if (!files.sources.some(({ name }) => name.endsWith('.onnx'))) return undefined
    const { graph } = await readNetwork(files.sources, { signal, dtype })
    const shapes = graph.inputs.map(({ name, type }) => {
      const dims = type?.dims ?? []
      return [
        name,
        dims.map((dim) => (typeof dim === 'number' ? dim : (evaluateDim(dim, size) ?? 1))),
      ] as const
    })
    const own = NETWORK_WEIGHTS.find((policy) => policy === weights)
    if (own === undefined)
      throw wrongOption('--weights', weights, `one of ${NETWORK_WEIGHTS.join(', ')} for a graph`)
    const plan = await outlineOf(graph, new Map(shapes), { weights: own, fallback }, signal)
    const inputs = shapes.map(([name, dims]) => `${name} [${dims.join(', ')}]`)
    return `network with inputs ${inputs.join(', ')}\n${plan}`
  } finally {
    await files.close()
  }
}

function sizeFlag(
  text: string,
  before: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, number> {
  const [, name = '', count = ''] = /^(.+)=(\d{1,9})$/.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('give NAME=COUNT.')
  return new Map([...before, [name, Number(count)]])
}

/** The plan, preceded for a graph model by the changes made to its graph. */
const describePlan = ({ file, plan }: PreparedModel): string =>
  [...(file.history ?? []), ...(file.history ? [''] : []), printPlan(plan)].join('\n')

function describe(facts: ModelFacts): string {
  const { format, quantization, parameters, layers, hiddenSize, intermediateSize, state, sampling } = facts
  const { blockTokens, blockBytes, contextBytes, fixedBytes } = state
  const blocks = `${bytesText(blockBytes)} per ${blockTokens} tokens, ${bytesText(contextBytes)} for ${facts.contextLength}`
  const parts = [
    blockBytes > 0 ? blocks : '',
    fixedBytes > 0 ? `${bytesText(fixedBytes)} regardless of length` : '',
  ]
  const rows: [string, string][] = [
    ['name', facts.name],
    ['format', [format, quantization].filter(Boolean).join(', ')],
    ['architecture', facts.architecture],
    ['parameters', parameters.toLocaleString('en')],
    ['layers', `${layers}, width ${hiddenSize}, feed-forward ${intermediateSize}`],
    ...headRows(facts),
    ['vocabulary', `${facts.vocabularySize}${facts.isTied ? ', tied' : ''}`],
    ['trained context', `${facts.trainedContext} tokens`],
    ['sampling', samplingText(sampling)],
    ['weights', bytesText(facts.weightBytes)],
    ['read per token', bytesText(facts.readPerTokenBytes)],
    ['activations', bytesText(facts.activationBytes)],
    ['state', parts.filter((part) => part !== '').join(', and ')],
    ['memory', `${bytesText(facts.memoryBytes)} with a full context`],
  ]
  return [...aligned(rows), '', ...tensorLines(facts)].join('\n')
}

/** The model's own defaults as command-line flags. */
function samplingText(sampling: SamplerOptions): string {
  const flags = Object.entries(sampling).map(([name, value]) => `${flagOf(name)} ${value}`)
  return flags.length > 0 ? `${flags.join(' ')}, as its files recommend` : "the command's defaults"
}

function headRows({ attention, recurrence: ssm }: ModelFacts): [string, string][] {
  const rows: [string, string][] = []
  if (attention !== undefined) {
    const { heads, headDim, kvHeads, layers } = attention
    const where = layers === undefined ? '' : ` in layers ${layers.join(', ')}`
    rows.push(['heads', `${heads} of ${headDim}, ${kvHeads} for keys and values${where}`])
  }
  if (ssm === undefined) return rows
  rows.push([
    'recurrence',
    `${ssm.innerSize} channels of ${ssm.stateSize}, ${sharedIn(ssm)}convolution of ${ssm.convKernel}`,
  ])
  return rows
}

function sharedIn(ssm: NonNullable<ModelFacts['recurrence']>): string {
  switch (ssm.kind) {
    case 'mamba':
      return `steps of rank ${ssm.timeStepRank}, `
    case 'mamba2':
    case 'delta':
      return `${ssm.heads} heads in ${ssm.groups} groups, `
    case 'lru':
      return `${ssm.heads} blocks, `
    case 'wkv':
      return ''
  }
}

const tensorLines = ({ tensors }: ModelFacts): string[] =>
  tensors.map(({ names, shape, stored, encoding, bytes, origins }) => {
    const read = origins.length === 0 ? '' : `  (${origins.join('; ')})`
    return `${visibleLine(names.join(' + '))}  [${shape.join(', ')}]  ${stored.join(' + ')} -> ${encoding}  ${bytesText(bytes)}${read}`
  })
