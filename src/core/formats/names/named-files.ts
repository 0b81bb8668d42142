// Resolves a file name from another file, within the model's folder. No name can lead outside it.
import { HalfbyteError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/values.ts'
import { shown } from '../malformed.ts'

declare const CHECKED: unique symbol

/**
 * A path below a model's folder. Only `pathInside` creates one, so a reader that takes this type cannot
 * follow an unchecked name.
 */
export type InnerPath = string & { readonly [CHECKED]: 'path' }

/**
 * The location of files to open: an address or path from a page or a user, or a file inside such a folder. A
 * string from a file becomes a location only through `addressInside` or `placeInside`.
 */
export type Place = string & { readonly [CHECKED]: 'place' }

/** Marks a location from a page or a user. Never call it with a string from a file or a server. */
export const givenPlace = (text: string): Place => text as Place

/** The name that llama.cpp's tools give to files with vision towers. */
export const isTowerName = (name: string): boolean => /mmproj.*\.gguf$/i.test(baseName(name))

/** E.g. `model.safetensors` for `https://host/repo/resolve/main/model.safetensors?download=true`. */
export function baseName(name: string): string {
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(name)
  const path = isAddress ? name.replace(/[?#].*$/, '') : name
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

/** The base name without its extension and split number. */
export function modelName(name: string): string {
  return baseName(name)
    .replace(/\.[a-z0-9]+$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
}

/** The name that a model's config.json states, or else that of its file. */
export const statedName = ({ _name_or_path: stated }: JsonObject, file: string): string =>
  typeof stated === 'string' && stated !== '' ? baseName(stated) : modelName(file)

/** File systems allow names of up to 255 bytes. */
const LONGEST_NAME = 1024

/**
 * The path within the folder, with its parts unchanged. `giver`: who names the file; the error begins with
 * it. Throws `format` for a name that a server, browser or file system could resolve to a file outside the
 * folder.
 */
export function pathInside(name: string, giver: string): InnerPath {
  const path = name.replace(/^(?:\.\/)+/, '')
  const fault = faultOf(path)
  if (fault === undefined) return path as InnerPath
  throw new HalfbyteError(
    'format',
    `${giver} names the file ${shown(name)}, which ${fault}; a model's files must be in its folder, so download the model again or choose another`,
    { name: name.slice(0, 200) },
  )
}

/**
 * The address of the file. `folder` ends with a slash, and the result begins with it. Throws the same errors
 * as `pathInside`.
 */
export function addressInside(folder: Place, name: string, giver: string): Place {
  const path = pathInside(name, giver).split('/').map(encodeURIComponent).join('/')
  const address = folder + path
  if (isBelow(address, folder)) return address as Place
  throw new HalfbyteError(
    'format',
    `${giver} names the file ${shown(name)}, which leads out of the folder ${folder}; choose another model`,
    { name: name.slice(0, 200) },
  )
}

/**
 * The file at `path` in `folder`, an address or file system path that ends with a slash. Throws the same
 * errors as `addressInside`.
 */
export function placeInside(folder: Place, path: InnerPath): Place {
  // A letter before a colon is a Windows drive.
  return /^[a-z][a-z0-9+.-]+:/i.test(folder)
    ? addressInside(folder, path, folder)
    : ((folder + path) as Place)
}

/** The folder of the file at an address. */
export const folderOf = (address: string): Place => new URL('.', address).href as Place

function isBelow(address: string, folder: string): boolean {
  const [file, top] = [address, folder].map(resolved)
  return file !== undefined && top !== undefined && file.startsWith(top)
}

/** Without a page, addresses stay relative. */
const ANY_PAGE = 'http://page.invalid/'

const resolved = (address: string): string | undefined =>
  URL.canParse(address, ANY_PAGE) ? new URL(address, ANY_PAGE).href : undefined

function faultOf(path: string): string | undefined {
  if (path.length > LONGEST_NAME) return `has ${path.length} characters, more than ${LONGEST_NAME}`
  if (!path.isWellFormed()) return 'is not valid text'
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(path)) return 'has a control character'
  const [special] = /[\\:?#]/.exec(path) ?? []
  if (special !== undefined) return `contains the character ${special}`
  // Some servers decode a path twice.
  if (/%[0-9a-f]{2}/i.test(path)) return 'has a percent-encoded character'
  for (const part of path.split('/')) {
    if (part === '') return 'starts at the root or has an empty part'
    if (/^\.+$/.test(part)) return 'has a part that consists of dots'
    // Windows ignores spaces and dots at the end of a name.
    if (part.trim() !== part || part.endsWith('.'))
      return 'has a part that starts or ends with a space or a dot'
  }
  // Some file systems and servers store names in this normal form, in which U+2025 becomes two dots and
  // U+FF0F a slash.
  const plain = path.normalize('NFKC').split(/[/\\]/)
  const isSame = plain.length === path.split('/').length && !plain.some((part) => /^\.+$/.test(part))
  return isSame ? undefined : 'contains characters that look like dots or slashes'
}
