// The manifest of a stored file: the JSON file next to its bytes that describes their state, and its
// transitions.
//
//             fill              complete            trust
//   absent ---------> partial ------------> stored --------> checked
//      ^               |   ^                   |                |
//      +-- give up ----+   +------ doubt ------+----- doubt ----+            remove: from any state to absent
//
//   absent    Nothing is known of the file, or <name>.json alone says that a load asked for it as a part of a
//             folder, and the server had none. Later loads do not ask again while weights of the folder are
//             stored (missing.ts).
//   partial   <name>.part and <name>.bin: a download that has not ended (part-file.ts). The next
//             load asks the server whether the file is still the same and fetches the chunks without a sum.
//   stored    <name>.json and <name>.bin: all bytes arrived. Each load compares a chunk with its sum before
//             it uses a byte of it (stored-source.ts).
//   checked   As stored, with `isChecked`: the bytes matched the hashes in the file. Loads do not compute
//             these again.
//
//   give up   The server has no such file, or the device has no room for it.
//   trust     A load ended well and fetched nothing again (load-marks.ts).
//   doubt     Chunks lose their sums, and the next load fetches them. Who doubts, and which chunks:
//               ByteSource.renew          those with bytes that a reader found to differ from their sum;
//                                         all others are compared then
//               distrust, `integrity`     those with the bytes that the error names; all when it names none
//               distrust, other errors    those of the header; all when this happens again before the file is
//                                         checked (`isDoubted` records the first time)

import { isCount } from '../../base/values.ts'
import { fileKey, readFields } from './notes.ts'
import type { Version } from './part-file.ts'
import { CHUNK_BYTES, isSums, type Sums } from './sums.ts'
import type { Folder } from './sync-file.ts'

/** Written after the file's last byte: a file without its manifest never counts as complete. */
export interface Manifest extends Version {
  readonly url: string
  /** Milliseconds since 1970 of the last load. */
  readonly used: number
  /**
   * The file with the highest value was loaded last, even if the clock was set back. Earlier releases
   * counted loads from 1, or wrote none: the value is then 0.
   */
  readonly turn: number
  /** The bytes have been compared with the hashes inside the file. */
  readonly isChecked?: boolean
  /** Checksums of the bytes that were written. */
  readonly sums: Sums
  /** See `isDoubted` of the journal. */
  readonly isDoubted?: boolean | undefined
  /** Whether the load recorded which files the folder lacks. Earlier releases did not. */
  readonly knowsMissing?: boolean
}

/** stored -> checked. */
export const asChecked = (manifest: Manifest): Manifest => ({
  ...manifest,
  isChecked: true,
  isDoubted: false,
})

/** Undefined if there is no manifest or it belongs to another file. */
export async function readManifest(folder: Folder, name: string): Promise<Manifest | undefined> {
  const fields = await readFields(folder, `${name}.json`)
  const { url, size, etag, used, turn, isChecked, isDoubted, sums, knowsMissing } = fields
  const isWhole =
    typeof url === 'string' && typeof etag === 'string' && isCount(size) && (await fileKey(url)) === name
  if (!isWhole) return undefined
  return {
    url,
    size,
    etag,
    used: isCount(used) ? used : 0,
    turn: isCount(turn) ? turn : 0,
    isChecked: isChecked === true,
    isDoubted: isDoubted === true,
    knowsMissing: knowsMissing === true,
    // Manifests of earlier releases have no sums.
    sums: isSums(sums) && sums.length === Math.ceil(size / CHUNK_BYTES) ? sums : [],
  }
}

/** Replaces the manifest of a file that the server lacks. */
export const missingNote = (url: string) => ({ url, isMissing: true })

/** The URL of a file that its server lacked; undefined if that is not recorded. */
export async function readMissing(folder: Folder, name: string): Promise<string | undefined> {
  const { url, isMissing } = await readFields(folder, `${name}.json`)
  return typeof url === 'string' && isMissing === true && (await fileKey(url)) === name ? url : undefined
}
