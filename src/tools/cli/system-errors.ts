// Errors of the operating system, by their codes.

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The system's code of an error, for example `ENOENT`; undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem && typeof error.code === 'string' ? error.code : undefined
}

/** True if the system says that the disk, or the user's share of it, is full. */
export const isFullDisk = (error: unknown): boolean => NO_ROOM.has(systemCode(error) ?? '')
