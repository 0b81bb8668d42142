// The packs that a store keeps beside its GGUF files. In: a model's files as they were opened, and the
// request. Out: its pack in place of them if there is one of the same version, or where one may be stored.
import { ABI_VERSION } from '../../../core/abi/ops.ts'
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import type { ByteSource } from '../../../core/base/bytes.ts'
import type { HalfbyteError } from '../../../core/base/errors.ts'
import { isObject } from '../../../core/base/values.ts'
import { PACK_VERSION } from '../../../core/formats/hbm/hbm.ts'
import { isTowerName, type Place } from '../../../core/formats/names/named-files.ts'
import { packAddress } from '../../../core/store/derived.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import { AUTO_VERSION } from '../../../core/weights/choose-encoding.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import {
  type FileOpener,
  type OpenFiles,
  openRequestedFiles,
  type PackPlace,
} from '../open/requested-files.ts'
import type { PreparedModel } from '../prepare.ts'

/** A pack takes at most this fraction of the free space. */
export const MOST_OF_FREE = 0.5

/** Packs hold the weights as `auto` stores them, without adapters, towers or another architecture. */
export const readsPack = ({
  weights = 'auto',
  lora,
  vision,
  architecture,
}: Partial<Pick<LoadRequest, 'weights' | 'architecture'>> & {
  readonly lora?: readonly unknown[] | undefined
  readonly vision?: unknown
}): boolean =>
  weights === 'auto' && (lora ?? []).length === 0 && vision === undefined && architecture === undefined

/** Other versions of a page may make other packs of the same file. */
const PAGE_MAKER = `${ABI_VERSION}.${PACK_VERSION}.${AUTO_VERSION}`
/** The errors of a damaged pack. */
const DAMAGE: ReadonlySet<string> = new Set(['integrity', 'format', 'architecture'])

/** Whether a load that read a copy should be repeated with the original, after its files were distrusted. */
export const isDamage = ({ code }: HalfbyteError): boolean => DAMAGE.has(code)

/** Whether the model at an address may have a pack. Other formats need little or no conversion. */
export const mayHavePack = (place: Place): boolean => /\.gguf$/i.test(place) && !isTowerName(place)

/**
 * The pack of stored files. Undefined if one of them is not stored. `maker`: the version of what makes packs.
 */
export async function packPlace(
  store: ModelStore,
  sources: readonly ByteSource[],
  maker: string,
): Promise<PackPlace | undefined> {
  const versions: string[] = []
  for (const { address = '' } of sources) {
    const version = await store.version(address)
    if (version === undefined) return undefined
    versions.push(`${version.size} ${version.etag}`)
  }
  const [{ address = '' } = {}] = sources
  return { address: packAddress(address), etag: [maker, ...versions].join(', ') }
}

/** Opens the pack. Undefined if there is none; removes one of another version. */
export async function openPack(
  store: ModelStore,
  { address, etag }: PackPlace,
): Promise<ByteSource | undefined> {
  const known = await store.version(address)
  if (known !== undefined && known.etag !== etag) await store.remove(address)
  const stored = await store.openStored(address)
  // Readers know the format by the name's extension.
  return stored && { ...stored, name: 'model.hbm' }
}

/**
 * Like `openRequestedFiles`, for engines: opens the pack of a stored file in its place, or says where it
 * belongs.
 */
export const openEngineFiles: FileOpener = async (request, hooks) => {
  const files = await openRequestedFiles(request, hooks)
  const { source, cache } = request
  const mayHave = typeof source === 'string' && cache === 'opfs' && readsPack(request) && mayHavePack(source)
  return mayHave ? packInstead(files) : files
}

async function packInstead(files: OpenFiles): Promise<OpenFiles> {
  const store = await ModelStore.open()
  const place = store && (await packPlace(store, files.sources, PAGE_MAKER))
  if (store === undefined || place === undefined) return files
  const pack = await openPack(store, place)
  if (pack === undefined) return { ...files, packPlace: place }
  await store.touch(place.address)
  await files.close()
  return {
    sources: [pack],
    isCopy: true,
    close: async () => pack.close?.(),
    distrust: async (error) => void (isDamage(error) && (await store.remove(place.address))),
  }
}

/**
 * The model of a pack, with its configuration in the order in which the pack has it. That is the order of the
 * original, so that the state of both has the same fingerprint.
 */
export const asOriginal = (prepared: PreparedModel): PreparedModel => ({
  ...prepared,
  config: inOrder(prepared.config, prepared.file.metadata.get('config')) as ModelConfig,
})

function inOrder(value: unknown, order: unknown): unknown {
  if (!isObject(value) || !isObject(order)) return value
  const keys = new Set([...Object.keys(order), ...Object.keys(value)])
  const known = [...keys].filter((key) => Object.hasOwn(value, key))
  return Object.fromEntries(known.map((key) => [key, inOrder(value[key], order[key])]))
}
