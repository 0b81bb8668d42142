// Hub. In: the address of a repository, where the hub is, a token. Out: plain URLs, and the header that opens private ones.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'

export interface Hub {
  /** Default: Hugging Face. */
  readonly baseUrl?: string | undefined
  /** Sent to the hub alone; never stored, logged or put into an error. */
  readonly token?: string | undefined
}

/** A model on the hub; without `file` the folder of its safetensors, or its only GGUF file. */
export interface RepoAddress {
  /** `owner/name` */
  readonly repo: string
  readonly file?: string | undefined
  /** Branch, tag or commit; default `main`. */
  readonly revision?: string | undefined
}

/** Files that are read in parts. */
export const WEIGHTS = /\.(gguf|hbm|safetensors)$/i

const HUGGING_FACE = 'https://huggingface.co/'

/**
 * `owner/name[:file][@revision]`: two plain names with one slash between them, and no ending of a model file, which is one
 * beside the page; with `hf:` before it whatever it ends with. Undefined for addresses of other kinds. Throws `unsupported`
 * for a malformed one behind `hf:`.
 */
export function parseHubAddress(text: string): RepoAddress | undefined {
  const [, prefix, repo, file, revision] =
    /^(hf:)?([a-z0-9][\w.-]*\/[a-z0-9][\w.-]*)(?::([^@]+))?(?:@(.+))?$/i.exec(text) ?? []
  if (repo !== undefined && (prefix ?? file ?? !WEIGHTS.test(text))) return { repo, file, revision }
  if (!text.startsWith('hf:')) return undefined
  throw malformed(text)
}

const malformed = (text: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `"${text.slice(0, 100)}" is not a hub address; write owner/name, owner/name:file.gguf or owner/name@revision`,
  )

/** No step of a path leads up or stays, also when a server decodes it once more than it should. */
const isInside = (path: string): boolean => !/(^|[/\\]|%2f|%5c)(\.|%2e){0,2}([/\\]|%2f|%5c|$)/i.test(path)

/** Where the file lies, or the folder. Throws `unsupported` for what would lead out of the repository. */
export function hubUrl({ repo, file = '', revision = 'main' }: RepoAddress, hub: Hub = {}): string {
  if (![repo, file || 'x', revision].every(isInside)) throw malformed(`${repo}:${file}@${revision}`)
  const path = file.split('/').map(encodeURIComponent).join('/')
  return `${baseOf(hub)}${repo}/resolve/${encodeURIComponent(revision)}/${path}`
}

/** What opens a private repository. Nothing for other servers, whatever address they have. */
export function hubHeaders(url: string, hub: Hub = {}): Record<string, string> {
  const base = baseOf(hub)
  // The browser takes steps up before it asks: they may lead out of a mirror in a folder.
  return hub.token !== undefined && url.startsWith(base) && new URL(url).href.startsWith(new URL(base).href)
    ? { Authorization: `Bearer ${hub.token}` }
    : {}
}

/** Repository, revision and file of an address; all undefined for one that is not of the hub. */
function partsOf(url: string, hub: Hub): readonly (string | undefined)[] {
  const base = baseOf(hub)
  const path = url.startsWith(base) ? url.slice(base.length) : ''
  return /^([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.*)$/.exec(path)?.slice(1) ?? []
}

/** Where a folder's files are listed as JSON; undefined when it is not one of the hub. */
export function hubListing(folder: string, hub: Hub = {}): string | undefined {
  const [repo, revision, file] = partsOf(folder, hub)
  return file === '' ? `${baseOf(hub)}api/models/${repo}/tree/${revision}` : undefined
}

/** A failed lookup; one on the hub says so, since a page or a folder may have a place of the same name. */
export function lookupError(error: unknown, url: string, hub: Hub = {}): unknown {
  const [repo] = partsOf(url, hub)
  const isLookup =
    isHalfbyteError(error) && /network|format/.test(error.code) && error.detail['loaded'] === undefined
  if (repo === undefined || !isLookup) return error
  return new HalfbyteError(
    error.code,
    `${error.message}. ${repo} was taken for a repository of ${baseOf(hub)}; write ./${repo} for a place beside the page or a path`,
    error.detail,
    { cause: error },
  )
}

/** The one GGUF file of a listing. Throws `format` when there is none, or more than one to choose from. */
export function onlyGguf(listing: unknown, folder: string): string {
  const names = (Array.isArray(listing) ? listing : [])
    .map((entry: { path?: unknown } | null) => entry?.path)
    .filter((path): path is string => typeof path === 'string' && path.endsWith('.gguf'))
  const [only] = names
  if (only !== undefined && names.length === 1) return folder + encodeURIComponent(only)
  const shown = names.slice(0, 8).map((name) => name.slice(0, 80))
  throw new HalfbyteError(
    'format',
    names.length === 0
      ? 'the repository has neither config.json nor a GGUF file; choose another'
      : `the repository has ${names.length} GGUF files; name one of them: ${shown.join(', ')}`,
    { files: names.length },
  )
}

const baseOf = ({ baseUrl = HUGGING_FACE }: Hub): string => baseUrl.replace(/\/?$/, '/')
