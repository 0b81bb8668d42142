// `halfbyte pull`, `rm` and `prune-store`: fetch models into the store, and remove them from it.
import { Command, InvalidArgumentError } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Device } from '../../../core/store/device/device.ts'
import { removeFiles } from '../../../core/store/stored-models.ts'
import { openModelFiles, placeOf } from '../files.ts'
import { isUrl } from '../hub-here.ts'
import { dtypeOption, type EngineFlags, size, whole } from '../options.ts'
import { NO_STORE, storeOf } from '../store/node-store.ts'
import { interruptible, visible, visibleLine } from '../terminal/failure.ts'
import { note } from '../terminal/notes.ts'
import { bytesText } from '../terminal/offer.ts'
import { clearProgress, showProgress } from '../terminal/output.ts'
import { listStoredModels, type StoredModel } from './stored-models.ts'
import { openPacked } from './stored-packs.ts'

const NAME =
  'a name from "halfbyte models", a URL (with a trailing slash for a folder), or owner/name[:file][@revision] on the hub'

const say = (text: string): void => void process.stdout.write(`${visible(text)}\n`)

/** Throws `unsupported` if nothing is stored here. */
function storeHere(): Device {
  const store = storeOf(undefined)
  if (store !== undefined) return store
  throw new HalfbyteError('unsupported', `${NO_STORE} is set, so there is no store; unset it first`)
}

export function pullCommand(): Command {
  return new Command('pull')
    .description(
      'Download a model into the store, and prepare its weights. Ctrl-C stops it; the next time continues from there.',
    )
    .argument('<name>', NAME)
    .addOption(dtypeOption())
    .action((name: string, flags: Pick<EngineFlags, 'dtype'>) =>
      interruptible((signal) => pull(name, flags, signal)),
    )
}

async function pull(name: string, { dtype }: Pick<EngineFlags, 'dtype'>, signal: AbortSignal): Promise<void> {
  const store = storeHere()
  const place = await placeOf(name)
  if (!isUrl(place))
    throw new HalfbyteError(
      'unsupported',
      `${name} is already on this machine; pull fetches models from servers`,
    )
  const hooks = { signal, onProgress: showProgress }
  const urls = new Set<string>()
  const open = async () => {
    const files = await openModelFiles(place, { ...hooks, dtype })
    for (const { address } of files.sources) if (address !== undefined) urls.add(address)
    return files
  }
  const files = await openPacked(place, store, open, hooks).finally(clearProgress)
  await files.close()
  const model = (await listStoredModels(store)).find((each) => each.files.some(({ url }) => urls.has(url)))
  if (model === undefined)
    throw new HalfbyteError(
      'unsupported',
      `${name} could be read but not stored; set HALFBYTE_HOME to a folder that can be written`,
    )
  say(`${model.name}: ${bytesText(model.bytes)}`)
}

export function rmCommand(): Command {
  return new Command('rm')
    .description('Remove models from the store. Programs that have loaded them are not affected.')
    .argument('<names...>', NAME)
    .action(async (names: readonly string[]) => {
      const store = storeHere()
      const models = await listStoredModels(store)
      const chosen = await Promise.all(names.map(async (name) => storedModel(name, models)))
      await remove(chosen, store)
    })
}

/** Throws `unsupported` if the model is not stored; the error lists those that are. */
async function storedModel(name: string, models: readonly StoredModel[]): Promise<StoredModel> {
  const place = await placeOf(name)
  const found = models.find((model) => model.name === name || model.address === place)
  if (found !== undefined) return found
  const names = models.map((model) => visibleLine(model.name))
  throw new HalfbyteError(
    'unsupported',
    `${name} is not stored; ${names.length === 0 ? 'the store is empty' : `stored are ${names.join(', ')}`}`,
  )
}

async function remove(models: readonly StoredModel[], store: Device): Promise<void> {
  for (const model of models) {
    await removeFiles(model.files, store)
    say(`${model.name}: ${bytesText(model.bytes)} removed`)
  }
}

interface PruneFlags {
  readonly keep?: number
  readonly maxSize?: number
  readonly unusedFor?: number
  readonly dryRun?: true
}

const HOUR_MS = 3_600_000
/** Milliseconds of each unit. */
const UNITS = new Map([
  ['h', HOUR_MS],
  ['d', 24 * HOUR_MS],
  ['w', 7 * 24 * HOUR_MS],
])

/** Parses a duration, `12h`, `30d` or `2w`, as milliseconds. */
function duration(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? []
  if (count === '') throw new InvalidArgumentError('give a time like 12h, 30d or 2w.')
  return Number(count) * (UNITS.get(unit) ?? 0)
}

export function pruneStoreCommand(): Command {
  return new Command('prune-store')
    .description(
      'Remove models from the store, least recently used first: with several options, those that any of them removes.',
    )
    .option('--keep <n>', 'keep the n models used last', whole(0))
    .option('--max-size <size>', 'keep as many as fit into this size, like 10GB', size(0))
    .option('--unused-for <time>', 'remove those not used for this time: 12h, 30d or 2w', duration)
    .option('--dry-run', 'only say what would be removed')
    .action(async (flags: PruneFlags, command: Command) => {
      const { keep, maxSize, unusedFor } = flags
      if ([keep, maxSize, unusedFor].every((value) => value === undefined))
        command.error('error: give --keep, --max-size or --unused-for', { exitCode: 2 })
      const store = storeHere()
      const chosen = prunable(await listStoredModels(store), flags)
      if (chosen.length === 0) note('nothing to remove')
      if (flags.dryRun) for (const model of chosen) say(`${model.name}: ${bytesText(model.bytes)}`)
      else await remove(chosen, store)
    })
}

/** `models`: most recently used first. An unfinished download counts like a model. */
export function prunable(
  models: readonly StoredModel[],
  {
    keep = Number.POSITIVE_INFINITY,
    maxSize = Number.POSITIVE_INFINITY,
    unusedFor = Number.POSITIVE_INFINITY,
  }: PruneFlags,
  now = Date.now(),
): StoredModel[] {
  let bytes = 0
  return models.filter((model, index) => {
    const isKept = index < keep && bytes + model.bytes <= maxSize && now - model.used < unusedFor
    if (isKept) bytes += model.bytes
    return !isKept
  })
}
