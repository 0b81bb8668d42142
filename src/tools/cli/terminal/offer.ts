// Before the download of a hub model, prints its size and licence, whether it fits and how fast it would be.

import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import { GRAPH_DTYPES } from '../../../core/formats/names/graph-files.ts'
import { catalogued } from '../../../core/store/catalogue.ts'
import { parseHubAddress } from '../../../core/store/hub.ts'
import { countBytes } from '../../../core/store/stored-models.ts'
import type { GraphOffer, ProbeReport, Smaller } from '../../../engine/api/types.ts'
import { probeEngine } from '../command-engine.ts'
import { placeOf } from '../files.ts'
import { isUrl } from '../hub-here.ts'
import type { EngineFlags } from '../options.ts'
import { storeOf } from '../store/node-store.ts'
import { visibleLine } from './failure.ts'

export function describeFit(report: ProbeReport): string {
  const { fits, suggestion, prefillTokensPerSecond, decodeTokensPerSecond } = report
  const rows: [string, string][] = [
    ['fits', fits ? 'yes' : 'no'],
    ['needed', `${bytesText(report.neededBytes)} with a context of ${report.contextLength}`],
    ['granted', bytesText(report.grantedBytes)],
    ['to download', bytesText(report.downloadBytes)],
    ['prefill', `about ${prefillTokensPerSecond.toPrecision(2)} tokens/s`],
    ['decode', `about ${decodeTokensPerSecond.toPrecision(2)} tokens/s`],
  ]
  if (!fits) rows.push(['would fit', suggestion === undefined ? 'a smaller model' : flagsOf(suggestion)])
  return [...aligned(rows), ...describeGraphs(report.graphs ?? [])].join('\n')
}

/** One line for each graph, and why the first is the default. */
function describeGraphs(graphs: readonly GraphOffer[]): string[] {
  if (graphs.length === 0) return []
  const rows = graphs.map(
    ({ file, dtype, fits, neededBytes, downloadBytes, isDefault }): [string, string] => [
      dtype === undefined ? file : `--dtype ${dtype}`,
      `${file}: ${bytesText(downloadBytes)} to download, ${isDefault ? '' : 'about '}${bytesText(neededBytes)} needed, ${fits ? 'fits' : 'does not fit'}`,
    ],
  )
  const why =
    graphs.length === 1
      ? 'the only graph'
      : `the first available of the dtypes ${GRAPH_DTYPES.join(', ')}, as without --dtype`
  return ['', ...aligned(rows), `The default is ${graphs[0]?.file}: ${why}.`]
}

/** As a user types them. */
const flagsOf = ({ contextLength, kvCache, weights }: Smaller): string =>
  [
    ...(contextLength === undefined ? [] : [`--context ${contextLength}`]),
    ...(kvCache === undefined ? [] : [`--kv ${kvCache.k},${kvCache.v}`]),
    ...(weights === undefined ? [] : [`--weights ${weights}`]),
  ].join(' ')

export function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${visibleLine(value)}`)
}

export function bytesText(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

/** True for a stored file. Of a folder, only some files may be stored. */
async function isStored(place: string): Promise<boolean> {
  const store = storeOf(undefined)
  return store !== undefined && !place.endsWith('/') && (await countBytes(place, store)) > 0
}

/** Throws `out-of-memory` for a model that does not fit, with flags that would help. */
export async function offer(model: string, flags: EngineFlags, signal: AbortSignal): Promise<void> {
  const known = catalogued(model)
  const isOnHub = known !== undefined || parseHubAddress(model) !== undefined
  const place = isOnHub ? await placeOf(model) : ''
  if (!isUrl(place) || (await isStored(place))) return
  let report: ProbeReport
  try {
    report = await probeEngine(model, flags, signal)
  } catch (error) {
    // The load itself has a better error message for an invalid model.
    if (isHalfbyteError(error)) return
    throw error
  }
  const { fits, neededBytes, grantedBytes, downloadBytes, decodeTokensPerSecond, suggestion } = report
  const name = known?.title ?? model
  if (!fits) {
    throw new HalfbyteError(
      'out-of-memory',
      `${name} needs ${bytesText(neededBytes)} of memory, but ${bytesText(grantedBytes)} are available; ${
        suggestion === undefined ? 'choose a smaller model' : `add ${flagsOf(suggestion)}`
      }`,
      { neededBytes, grantedBytes },
    )
  }
  if (downloadBytes === 0) return
  const licence = known === undefined ? '' : `, ${known.licence}`
  process.stderr.write(
    `${name}: ${bytesText(downloadBytes)} to download${licence}. It fits (${bytesText(neededBytes)} of memory); about ${decodeTokensPerSecond.toPrecision(2)} tokens/s.\n`,
  )
}
