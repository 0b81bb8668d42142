// Turns the address of a repository into plain URLs and, for private repositories, a header.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { addressInside, isTowerName, type Place } from '../formats/names/named-files.ts'

/** The hub where repositories are looked up. */
export interface Hub {
  /** Address of a hub with Hugging Face's paths. Default: Hugging Face. */
  readonly baseUrl?: string | undefined
  /**
   * Access token for private repositories, sent only to the hub. It is never stored, logged or put into an
   * error. Default: none.
   */
  readonly token?: string | undefined
}

/** A model on the hub. Without `file`: the repository's safetensors, or its only GGUF file. */
export interface RepoAddress {
  /** `owner/name` */
  readonly repo: string
  /** Path in the repository. Default: its safetensors, or its only GGUF file. */
  readonly file?: string | undefined
  /** Branch, tag or commit; default `main`. */
  readonly revision?: string | undefined
}

/** Files that are read in ranges. Exports of more than 2 GB have `model.onnx_data_1` and so on. */
export const WEIGHTS = /\.(gguf|hbm|safetensors|onnx|(onnx[._])?data(_\d+)?)$/i

const HUGGING_FACE = 'https://huggingface.co/'

/** The copied address of a page or file on Hugging Face: repository, revision, path. */
const PAGE = new RegExp(
  '^(?:https?://)?(?:www\\.)?(?:huggingface|hf)\\.co/(?!api/|datasets/|spaces/)([\\w.-]+/[\\w.-]+)' +
    '(?:/?|/(?:tree|blob|raw|resolve)/([^/?#]+)/?|/(?:blob|raw|resolve)/([^/?#]+)/([^?#]*[^/?#]))(?:[?#].*)?$',
  'i',
)

/**
 * Parses `owner/name[:file][@revision]`: two plain names with one slash between them. The address of a page
 * or a file on Hugging Face works too, with or without a query. Without the prefix `hf:`, a name with the
 * extension of a model file is not a hub address but a file next to the page. Returns undefined for other
 * kinds of address. Throws `unsupported` for a malformed address after `hf:`.
 */
export function parseHubAddress(text: string): RepoAddress | undefined {
  const page = PAGE.exec(text)
  if (page !== null) return pageAddress(page)
  const [, prefix, repo, file, revision] =
    /^(hf:)?([a-z0-9][\w.-]*\/[a-z0-9][\w.-]*)(?::([^@]+))?(?:@(.+))?$/i.exec(text) ?? []
  if (repo !== undefined && (prefix ?? file ?? !WEIGHTS.test(text))) return { repo, file, revision }
  if (!text.startsWith('hf:')) return undefined
  throw malformed(text)
}

function pageAddress([text, repo = '', whole, part, file]: RegExpExecArray): RepoAddress {
  const revision = whole ?? part
  try {
    return {
      repo,
      file: file && decodeURIComponent(file),
      revision: revision && decodeURIComponent(revision),
    }
  } catch {
    throw malformed(text)
  }
}

const malformed = (text: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `"${text.slice(0, 100)}" is not a hub address; write owner/name, owner/name:file.gguf or owner/name@revision`,
  )

/** True if no segment of a path is empty, `.` or `..`, even if a server decodes the path twice. */
const isInside = (path: string): boolean => !/(^|[/\\]|%2f|%5c)(\.|%2e){0,2}([/\\]|%2f|%5c|$)/i.test(path)

/** The URL of the file or folder. Throws `unsupported` for a path that leads out of the repository. */
export function hubUrl({ repo, file = '', revision = 'main' }: RepoAddress, hub: Hub = {}): string {
  if (![repo, file || 'x', revision].every(isInside)) throw malformed(`${repo}:${file}@${revision}`)
  const path = file.split('/').map(encodeURIComponent).join('/')
  return `${baseOf(hub)}${repo}/resolve/${encodeURIComponent(revision)}/${path}`
}

/** The headers for a private repository; none for any other server. */
export function hubHeaders(url: string, hub: Hub = {}): Record<string, string> {
  const base = baseOf(hub)
  // Browsers resolve `..` before they send a request, which may lead out of a hub mirror that is in a folder.
  return hub.token !== undefined && url.startsWith(base) && new URL(url).href.startsWith(new URL(base).href)
    ? { Authorization: `Bearer ${hub.token}` }
    : {}
}

/** Repository, revision and file of an address; all undefined if it is not on the hub. */
function partsOf(url: string, hub: Hub): readonly (string | undefined)[] {
  const base = baseOf(hub)
  const path = url.startsWith(base) ? url.slice(base.length) : ''
  return /^([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.*)$/.exec(path)?.slice(1) ?? []
}

/** The repository, revision and path of a URL that `hubUrl` made; undefined for any other. */
export function repoAddressOf(url: string, hub: Hub = {}): Required<RepoAddress> | undefined {
  const [repo, revision, file] = partsOf(url, hub)
  if (repo === undefined || revision === undefined || /[?#]/.test(url)) return undefined
  try {
    return { repo, revision: decodeURIComponent(revision), file: decodeURIComponent(file ?? '') }
  } catch {
    return undefined
  }
}

/** The URL of a folder's JSON listing; undefined if the folder is not on the hub. */
export function hubListing(folder: string, hub: Hub = {}): string | undefined {
  const [repo, revision, file] = partsOf(folder, hub)
  return file === '' ? `${baseOf(hub)}api/models/${repo}/tree/${revision}` : undefined
}

/**
 * The error of a failed lookup. The message says that the hub was asked, because the caller may have meant a
 * local path.
 */
export function lookupError(error: unknown, url: string, hub: Hub = {}): unknown {
  const [repo] = partsOf(url, hub)
  const isLookup =
    isHalfbyteError(error) && /network|format/.test(error.code) && error.detail['loaded'] === undefined
  if (repo === undefined || !isLookup) return error
  return new HalfbyteError(
    error.code,
    `${error.message}. ${repo} was interpreted as a repository on ${baseOf(hub)}; write ./${repo} for a path relative to the page`,
    error.detail,
    { cause: error },
  )
}

/** The only model among the GGUF files of a listing. Throws `format` if there is none or more than one. */
export function onlyGguf(listing: unknown, folder: Place): Place {
  const paths = (Array.isArray(listing) ? listing : [])
    .map((entry: { path?: unknown } | null) => entry?.path)
    .filter((path): path is string => typeof path === 'string' && path.endsWith('.gguf'))
  const names = paths.filter((path) => !isTowerName(path))
  const [only] = names
  if (only !== undefined && names.length === 1) return addressInside(folder, only, `the listing of ${folder}`)
  const shown = names.slice(0, 8).map((name) => name.slice(0, 80))
  throw new HalfbyteError(
    'format',
    names.length === 0
      ? 'the repository has neither a config.json nor a GGUF file; choose another'
      : `the repository has ${names.length} GGUF files; name one of them: ${shown.join(', ')}`,
    { files: names.length },
  )
}

const baseOf = ({ baseUrl = HUGGING_FACE }: Hub): string => baseUrl.replace(/\/?$/, '/')
