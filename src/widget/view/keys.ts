// Keys. In: a keyboard event. Out: whether it sends what was written.

/** True where a finger types: there Enter makes a new line, as in other apps of a phone. */
export const isTouch = (): boolean => window.matchMedia('(hover: none) and (pointer: coarse)').matches

/** Enter sends at a desktop; Control or Command with Enter sends everywhere. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return false
  return event.ctrlKey || event.metaKey || !isTouch()
}
