export interface Manifest {
  readonly files: readonly string[]
  readonly homepage: string
}
export function contains(manifest: Manifest, path: string): boolean
export function packedText(text: string, path: string, manifest: Manifest): string
export function packDocuments(folder: string, keep?: (path: string, text: string) => void): void
export function packInPlace(folder: string): void
export function restoreDocuments(folder: string): void
