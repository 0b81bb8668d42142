// Offered models. In: the page's packs, the catalogue, this device. Out: models that may answer questions
// that the embedded one cannot, and the one to offer first, if one is clearly best.
import { PAGE_PACKS } from 'virtual:page-packs'
import { CATALOGUE } from '../../../../src/ui/chat/library.ts'
import { recentAddresses } from '../../conversation/store/remember.ts'
import { bytes, duration } from '../../shell/units.ts'
import { t } from '../../words/later-words.ts'
import type { PageModel } from '../page-pack.ts'
import { storedDownloads } from '../unfinished.ts'
import { connectionSpeed } from './connection-speed.ts'

/**
 * Maximum size of a model's download as a share of the device's memory, so that it runs alongside the page.
 */
const MAX_SHARE = 1 / 4
/** Memory in GB assumed for devices whose browser does not report it. */
const USUAL_MEMORY = 4

/** The page's own packs first, then open models, smallest first. Models that cannot chat are excluded. */
export function offeredModels(
  memory = (navigator as { deviceMemory?: number }).deviceMemory ?? USUAL_MEMORY,
): readonly PageModel[] {
  const most = memory * 1e9 * MAX_SHARE
  return [...PAGE_PACKS, ...CATALOGUE.filter(({ sizeBytes, isBase }) => !isBase && sizeBytes <= most)]
}

/** The model that is clearly the best one to ask. */
export interface BestModel {
  readonly address: string
  /** Absent for a model that is on this device. */
  readonly download?: PageModel
}

/**
 * The last used model on this device, which needs no download; otherwise the only offered model, or the
 * page's only pack, which its author chose. `isForeign`: the question is in a language other than English,
 * which a pack may not know.
 */
export async function bestModel(
  models: readonly PageModel[],
  isForeign: boolean,
): Promise<BestModel | undefined> {
  const recent = recentAddresses()
  const here = (await storedDownloads()).filter(({ address, isCut }) => !isCut && recent.includes(address))
  const [last] = here.map(({ address }) => address).sort((a, b) => recent.indexOf(a) - recent.indexOf(b))
  if (last !== undefined) return { address: last }
  const [only, other] = PAGE_PACKS.length > 0 && !isForeign ? PAGE_PACKS : models
  return only === undefined || other !== undefined ? undefined : { address: only.address, download: only }
}

/** Size and download time, for example `145 MB` and `about 1 min to download`. */
export function costOf({ sizeBytes }: PageModel): readonly [size: string, time: string] {
  const speed = connectionSpeed()
  const time =
    speed === undefined
      ? t('offerTimeUnknown')
      : t('offerTime', { time: duration((sizeBytes / speed) * 1000) })
  return [bytes(sizeBytes), time]
}
