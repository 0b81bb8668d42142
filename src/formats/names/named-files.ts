// Resolves the name of a file that another file gives, within the model's folder. No name leads anywhere
// else.
import { HalfbyteError } from '../../base/errors.ts'
import { shown } from '../malformed.ts'

/** The name that llama.cpp's tools give to the files of vision towers. */
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

/** File systems hold names of 255 bytes. */
const LONGEST_NAME = 1024

/**
 * The path below the folder, with its parts as they were given. `giver` says who names the file and begins
 * the error. Throws `format` for a name that a server, a browser or a file system could take for another
 * place.
 */
export function pathInside(name: string, giver: string): string {
  const path = name.replace(/^(?:\.\/)+/, '')
  const fault = faultOf(path)
  if (fault === undefined) return path
  throw new HalfbyteError(
    'format',
    `${giver} names the file ${shown(name)}, which ${fault}; weights must be in the model's folder, so download the model again or choose another`,
    { name: name.slice(0, 200) },
  )
}

/**
 * The address of the file. `folder` ends with a slash, and the result begins with it. Throws what
 * `pathInside` throws.
 */
export function addressInside(folder: string, name: string, giver: string): string {
  const path = pathInside(name, giver).split('/').map(encodeURIComponent).join('/')
  const address = folder + path
  if (resolved(address).startsWith(resolved(folder))) return address
  throw new HalfbyteError(
    'format',
    `${giver} names the file ${shown(name)}, which leads out of the folder ${folder}; choose another model`,
    { name: name.slice(0, 200) },
  )
}

/** Addresses stay relative where there is no page. */
const resolved = (address: string): string => new URL(address, 'http://page.invalid/').href

function faultOf(path: string): string | undefined {
  if (path.length > LONGEST_NAME) return `has ${path.length} characters, more than ${LONGEST_NAME}`
  if (!path.isWellFormed()) return 'is not valid text'
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(path)) return 'has a control character'
  const [special] = /[\\:?#]/.exec(path) ?? []
  if (special !== undefined) return `has the character ${special}`
  // Some servers decode a path twice.
  if (/%[0-9a-f]{2}/i.test(path)) return 'has a character that is written as a percent code'
  for (const part of path.split('/')) {
    if (part === '') return 'is outside of the folder or has an empty part'
    if (/^\.+$/.test(part)) return 'is outside of the folder'
    // Windows ignores both at the end of a name.
    if (part.trim() !== part || part.endsWith('.'))
      return 'has a part that begins or ends with a blank or a dot'
  }
  return undefined
}
