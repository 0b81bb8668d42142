// Idle time after an answer. In: the page's visibility and the device's battery. Out: whether work may be
// done in advance.

/** Milliseconds after an answer before anything is done in advance. */
export const IDLE_MS = 1500
/** Share of the battery below which nothing is done in advance, unless it is charging. */
const LOW = 0.2

interface Battery {
  readonly charging: boolean
  readonly level: number
}

/**
 * Whether work for a later answer may be done now. It may if the browser does not report the battery's level.
 */
export async function isIdle(): Promise<boolean> {
  const { navigator } = globalThis as { navigator?: { getBattery?: () => Promise<Battery> } }
  const battery = await navigator?.getBattery?.().catch(() => undefined)
  const isLow = battery !== undefined && !battery.charging && battery.level < LOW
  return !isHidden() && !isLow
}

/** Aborts the work when the page is hidden. */
export function stopWhenHidden(work: AbortController): void {
  const check = () => {
    if (isHidden()) work.abort()
  }
  globalThis.document?.addEventListener('visibilitychange', check, { signal: work.signal })
}

const isHidden = (): boolean => globalThis.document?.visibilityState === 'hidden'
