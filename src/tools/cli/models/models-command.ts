// `halfbyte models`: lists the stored models, the embedded ones, and those of the catalogue.
import { Command } from 'commander'
import { CATALOGUE } from '../../../core/store/catalogue.ts'
import { storeFolder } from '../platform-folders.ts'
import { storeOf } from '../store/node-store.ts'
import { visibleLine } from '../terminal/failure.ts'
import { bytesText } from '../terminal/offer.ts'
import { EMBEDDED } from './embedded.ts'
import { listStoredModels, type StoredModel } from './stored-models.ts'

export function modelsCommand(): Command {
  return new Command('models')
    .description(
      'List the models stored on this machine, the embedded ones, and small open ones that "halfbyte chat NAME" downloads. "halfbyte inspect NAME --fit" tells how well one would run here.',
    )
    .option('--json', 'print the list as one JSON array')
    .action(async ({ json }: { json?: true }) => {
      const stored = await listStoredModels(storeOf(undefined))
      const page = json ? JSON.stringify(listed(stored), undefined, 2) : textOf(stored)
      process.stdout.write(`${page}\n`)
    })
}

/** The list as an array of objects: first the stored models that are in neither of the other lists. */
function listed(models: readonly StoredModel[]) {
  const storedAs = ({ bytes, used, isComplete }: StoredModel) => ({
    bytes,
    isComplete,
    lastUsed: new Date(used).toISOString(),
  })
  const others = models.filter(({ name }) => CATALOGUE.every(({ id }) => id !== name))
  return [
    ...others.map((model) => ({
      id: model.name,
      address: model.address,
      isEmbedded: false,
      stored: storedAs(model),
    })),
    ...EMBEDDED.map(({ id, about }) => ({ id, isEmbedded: true, about })),
    ...CATALOGUE.map((entry) => {
      const model = models.find(({ name }) => name === entry.id)
      return { ...entry, isEmbedded: false, ...(model !== undefined && { stored: storedAs(model) }) }
    }),
  ]
}

function textOf(stored: readonly StoredModel[]): string {
  const embedded = EMBEDDED.map(({ id, about }) => ({ id, lines: ['embedded, nothing to download', about] }))
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
  const offers = all.map(({ id, lines }) => entry(id, lines)).join('\n')
  return stored.length === 0 ? offers : `${storedTable(stored)}\n\n${offers}`
}

/** The stored models in columns: name, size, last use. */
export function storedTable(models: readonly StoredModel[], now = Date.now()): string {
  const rows = [
    ['NAME', 'SIZE', 'LAST USED'],
    ...models.map(({ name, bytes, used, isComplete }) => [
      visibleLine(name),
      bytesText(bytes),
      isComplete ? agoText(now - used) : `${agoText(now - used)}, unfinished`,
    ]),
  ] as [string, string, string][]
  const [names, sizes] = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  const total = models.reduce((sum, { bytes }) => sum + bytes, 0)
  const table = rows.map(([name, size, used]) => `${name.padEnd(names!)}  ${size.padStart(sizes!)}  ${used}`)
  return [`${bytesText(total)} in ${visibleLine(storeFolder())}:`, ...table].join('\n')
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** A negative time, from a clock that was set back, is `just now`. */
function agoText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= length) ?? []
  if (unit === undefined || length === undefined) return 'just now'
  const count = Math.floor(ms / length)
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`
}
