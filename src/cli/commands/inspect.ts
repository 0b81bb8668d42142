// `halfbyte inspect`: describes a model, its tensors and its memory, and prints its plan on request.
import { Command, InvalidArgumentError } from 'commander'
import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { wrongOption } from '../../base/check-options.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { planGraph } from '../../compile/compiled-graph.ts'
import { NETWORK_WEIGHTS } from '../../compile/lower/policy.ts'
import { readNetwork } from '../../compile/open-network.ts'
import { printNetworkPlan } from '../../compile/plan/print.ts'
import { memoryNeed } from '../../engine/load/memory-need.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { GraphDtype } from '../../formats/names/graph-files.ts'
import type { SamplerOptions } from '../../generate/sampler/sampler-options.ts'
import { planTotals } from '../../graph/plan/cost.ts'
import { printPlan } from '../../graph/plan/print.ts'
import { evaluateDim } from '../../onnx/ir/dims.ts'
import { CATALOGUE } from '../../store/catalogue.ts'
import { probeEngine } from '../command-engine.ts'
import { openModelFiles } from '../files.ts'
import { withPrepared } from '../model.ts'
import {
  dtypeOption,
  EMBEDDED,
  type EngineFlags,
  kvOption,
  loraOption,
  MODEL,
  weightsOption,
  withContextOption,
} from '../options.ts'
import { flagOf } from '../sampler-flags.ts'
import { interruptible, visible, visibleLine } from '../terminal/failure.ts'
import { aligned, bytesText, describeFit } from '../terminal/offer.ts'

export function modelsCommand(): Command {
  return new Command('models')
    .description(
      'List the embedded models and small open ones that "halfbyte chat NAME" fetches. "halfbyte inspect NAME --fit" says how one would run here.',
    )
    .action(() => void process.stdout.write(`${list()}\n`))
}

function list(): string {
  const embedded = EMBEDDED.map(({ id, about }) => ({ id, lines: ['embedded, nothing to fetch', about] }))
  const fetched = CATALOGUE.map(({ id, sizeBytes, licence, contextLength, address, about, checked }) => ({
    id,
    lines: [
      `${bytesText(sizeBytes)}, ${licence}, context ${contextLength}`,
      about,
      address,
      ...(checked === undefined ? [] : [`compared with llama.cpp in ${checked}`]),
    ],
  }))
  const all = [...embedded, ...fetched]
  const width = Math.max(...all.map(({ id }) => id.length))
  const entry = (id: string, lines: readonly string[]) =>
    lines.map((line, index) => `${(index === 0 ? id : '').padEnd(width)}  ${line}`).join('\n')
  return all.map(({ id, lines }) => entry(id, lines)).join('\n')
}

interface InspectFlags extends Pick<EngineFlags, 'weights' | 'context' | 'kv' | 'lora'> {
  readonly plan?: true
  readonly size?: ReadonlyMap<string, number>
  readonly fit?: true
  readonly dtype?: GraphDtype
}

export function inspectCommand(): Command {
  const command = new Command('inspect')
    .description('Show architecture, parameters, tensors with encodings and the memory that a context takes.')
    .argument('<model>', MODEL)
    .addOption(weightsOption())
    .addOption(dtypeOption())
    .addOption(loraOption())
    .addOption(kvOption())
    .option('--plan', 'show every op of a step with its shapes and bytes')
    .option(
      '--size <name=count>',
      'with --plan, for a graph that is no decoder: a size of its inputs, such as batch=1; default 1 each',
      sizeFlag,
    )
    .option('--fit', 'say whether it fits this machine, how fast it would be, and what would fit instead')
    .action(async (model: string, flags: InspectFlags) => {
      const page = await interruptible(async (signal) =>
        flags.fit === true
          ? describeFit(await probeEngine(model, flags, signal))
          : flags.plan === true
            ? planPage(model, flags, signal)
            : withPrepared(model, flags, signal, async (prepared) => describe(prepared)),
      )
      process.stdout.write(visible(page.endsWith('\n') ? page : `${page}\n`))
    })
  return withContextOption(command)
}

/** The plan of a decoder's step, or of a graph of any other kind. */
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
  { size = new Map(), dtype, weights }: InspectFlags,
  signal: AbortSignal,
): Promise<string | undefined> {
  const files = await openModelFiles(model, { signal, dtype })
  try {
    if (!files.sources.some(({ name }) => name.endsWith('.onnx'))) return undefined
    const graph = await readNetwork(files.sources, { signal, dtype })
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
    const { plan } = planGraph(graph, new Map(shapes), own)
    const inputs = shapes.map(([name, dims]) => `${name} [${dims.join(', ')}]`)
    return `network with inputs ${inputs.join(', ')}\n${printNetworkPlan(plan)}`
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

/** The plan. For a model that came as a graph, first what was done to the graph. */
const describePlan = ({ file, plan }: PreparedModel): string =>
  [...(file.history ?? []), ...(file.history ? [''] : []), printPlan(plan)].join('\n')

function describe(prepared: PreparedModel): string {
  const { file, config, plan, parameters, contextLength, sampling } = prepared
  const { weightBytes, arenaBytes, blockBytes, slabBytes, decodeBytes } = planTotals(plan)
  const block = blockBytes.reduce((sum, bytes) => sum + bytes, 0)
  const state = Math.ceil(contextLength / BLOCK_POSITIONS) * block
  const blocks = `${bytesText(block)} per ${BLOCK_POSITIONS} tokens, ${bytesText(state)} for ${contextLength}`
  const parts = [block > 0 ? blocks : '', slabBytes > 0 ? `${bytesText(slabBytes)} however long it is` : '']
  const rows: [string, string][] = [
    ['name', file.name],
    ['format', [file.format, file.quantization].filter(Boolean).join(', ')],
    ['architecture', config.family],
    ['parameters', parameters.toLocaleString('en')],
    [
      'layers',
      `${config.layers} of ${config.hiddenSize} wide, ${config.intermediateSize || config.ssm?.innerSize} inside`,
    ],
    ...headRows(prepared),
    ['vocabulary', `${config.vocabSize}${config.tiedEmbeddings ? ', tied' : ''}`],
    ['trained context', `${config.contextLength} tokens`],
    ['sampling', samplingText(sampling)],
    ['weights', bytesText(weightBytes)],
    ['read per token', bytesText(decodeBytes)],
    ['activations', bytesText(arenaBytes)],
    ['state', parts.filter((part) => part !== '').join(', and ')],
    ['memory', `${bytesText(memoryNeed(prepared).fullBytes)} with a full context`],
  ]
  return [...aligned(rows), '', ...tensorLines(prepared)].join('\n')
}

/** The model's own defaults as flags of the command line. */
function samplingText(sampling: SamplerOptions): string {
  const flags = Object.entries(sampling).map(([name, value]) => `${flagOf(name)} ${value}`)
  return flags.length > 0 ? `${flags.join(' ')}, as its files recommend` : 'the defaults of the command'
}

function headRows({ config }: PreparedModel): [string, string][] {
  const { heads, headDim, kvHeads, ssm, attentionLayers } = config
  const where = attentionLayers === undefined ? '' : ` in layers ${attentionLayers.join(', ')}`
  const rows: [string, string][] = []
  if (heads > 0) rows.push(['heads', `${heads} of ${headDim}, ${kvHeads} for keys and values${where}`])
  if (ssm === undefined) return rows
  const shared =
    ssm.kind === 'mamba2' ? `${ssm.heads} heads in ${ssm.groups} groups` : `steps of rank ${ssm.timeStepRank}`
  rows.push([
    'recurrence',
    `${ssm.innerSize} channels of ${ssm.stateSize}, ${shared}, convolution of ${ssm.convKernel}`,
  ])
  return rows
}

/** One line for each slot: how it is stored in the file and in memory. */
function tensorLines({ plan, weights }: PreparedModel): string[] {
  return plan.slots.map((slot) => {
    const names = slot.ref.parts.map((part) => part.name).join(' + ')
    const forms = slot.ref.parts.map(({ name }) => weightOf(weights, name))
    const stored = [...new Set(forms.map(({ dtype, like }) => like ?? dtype))].join(' + ')
    const shape = slot.ref.kind === 'vector' ? `[${slot.n}]` : `[${slot.n}, ${slot.ref.k}]`
    const origins = [...new Set(forms.flatMap(({ origin }) => origin ?? []))].join('; ')
    const read = origins === '' ? '' : `  (${origins})`
    return `${visibleLine(names)}  ${shape}  ${stored} -> ${slot.encoding}  ${bytesText(slot.bytes)}${read}`
  })
}
