// Offer. In: `<model>` and flags. Out: before a model of the hub is downloaded, its size, licence and how it
// would run here, on stderr.
import { HalfbyteError, isHalfbyteError } from '../../base/errors.ts'
import type { ProbeReport } from '../../engine/wire/probe-protocol.ts'
import { catalogued } from '../../store/catalogue.ts'
import { parseHubAddress } from '../../store/hub.ts'
import { probeEngine } from '../engine.ts'
import { placeOf } from '../files.ts'
import { bytesText, flagsOf } from '../fit.ts'
import type { EngineFlags } from '../options.ts'

/** Throws `out-of-memory` for a model that does not fit, with flags that would help. */
export async function offer(model: string, flags: EngineFlags, signal: AbortSignal): Promise<void> {
  const known = catalogued(model)
  const isOnHub = known !== undefined || parseHubAddress(model) !== undefined
  if (!isOnHub || !/^https?:/i.test(await placeOf(model))) return
  let report: ProbeReport
  try {
    report = await probeEngine(model, flags, signal)
  } catch (error) {
    // The load says better what is wrong with a model.
    if (isHalfbyteError(error)) return
    throw error
  }
  const { fits, neededBytes, grantedBytes, downloadBytes, decodeTokensPerSecond, suggestion } = report
  const name = known?.title ?? model
  if (!fits) {
    throw new HalfbyteError(
      'out-of-memory',
      `${name} needs ${bytesText(neededBytes)} of memory, but ${bytesText(grantedBytes)} can be had; ${
        suggestion === undefined ? 'choose a smaller model' : `add ${flagsOf(suggestion)}`
      }`,
      { neededBytes, grantedBytes },
    )
  }
  const licence = known === undefined ? '' : `, ${known.licence}`
  process.stderr.write(
    `${name}: ${bytesText(downloadBytes)} to download${licence}. It fits (${bytesText(neededBytes)} of memory); about ${decodeTokensPerSecond.toPrecision(2)} tokens/s.\n`,
  )
}
