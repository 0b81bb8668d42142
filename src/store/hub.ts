// Hub. In: the address of a repository, where the hub is, a token. Out: plain URLs, and the header that opens private ones.
import { HalfbyteError } from '../base/errors.ts'

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

const HUGGING_FACE = 'https://huggingface.co/'

/** `hf:owner/name[:file][@revision]`; undefined for addresses of other kinds. Throws `unsupported` for a malformed one. */
export function parseHubAddress(text: string): RepoAddress | undefined {
  if (!text.startsWith('hf:')) return undefined
  const [, repo, file, revision] =
    /^hf:([A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?::([^@]+))?(?:@(.+))?$/.exec(text) ?? []
  if (repo !== undefined) return { repo, file, revision }
  throw new HalfbyteError(
    'unsupported',
    `"${text.slice(0, 100)}" is not a hub address; write hf:owner/name, hf:owner/name:file.gguf or hf:owner/name@revision`,
  )
}

/** Where the file lies, or the folder. */
export function hubUrl({ repo, file = '', revision = 'main' }: RepoAddress, hub: Hub = {}): string {
  const path = file.split('/').map(encodeURIComponent).join('/')
  return `${baseOf(hub)}${repo}/resolve/${encodeURIComponent(revision)}/${path}`
}

/** What opens a private repository. Nothing for other servers, whatever address they have. */
export function hubHeaders(url: string, hub: Hub = {}): Record<string, string> {
  return hub.token !== undefined && url.startsWith(baseOf(hub))
    ? { Authorization: `Bearer ${hub.token}` }
    : {}
}

/** Where a folder's files are listed as JSON; undefined when it is not one of the hub. */
export function hubListing(folder: string, hub: Hub = {}): string | undefined {
  const base = baseOf(hub)
  if (!folder.startsWith(base)) return undefined
  const [, repo, revision] = /^([^/]+\/[^/]+)\/resolve\/([^/]+)\/$/.exec(folder.slice(base.length)) ?? []
  return repo === undefined ? undefined : `${base}api/models/${repo}/tree/${revision}`
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
