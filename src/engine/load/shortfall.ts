// Explains why a model runs on fewer threads than requested, or on another pool.
import { type EngineNote, PLAIN_NOTES } from '../../core/base/engine-notes.ts'
import { detectFeatures } from '../../core/runtime/features.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { Runtime } from '../../core/runtime/open-runtime.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'

/** The caller's request. */
interface PoolRequest {
  readonly host: Host
  readonly threads: number | 'auto'
  /** Default `auto`. */
  readonly pool?: PoolKind | 'auto' | undefined
}

/** Why there are fewer threads than requested, or another pool; undefined if the request was met. */
export function shortfallOf(
  { host, threads, pool: asked = 'auto' }: PoolRequest,
  { memoryKind }: Pick<Runtime, 'memoryKind'>,
  got: number,
  kind: PoolKind,
): EngineNote | undefined {
  const isFewer = threads !== 'auto' && got < threads
  const isOther = asked !== 'auto' && asked !== kind && threads !== 1
  if (!isFewer && !isOther) return undefined
  if (asked === 'single') return PLAIN_NOTES['single-pool']
  if (host.startWorker === undefined) return PLAIN_NOTES['no-workers']
  if (memoryKind === 'shared') return PLAIN_NOTES['one-thread']
  return PLAIN_NOTES[detectFeatures(host.globals).sharedMemory ? 'no-shared-memory' : 'not-isolated']
}
