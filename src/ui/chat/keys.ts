// Keys. In: keyboard events. Out: their meaning.

/** True on touch devices: there Enter inserts a line break, as in other phone apps. */
export const isTouch = (): boolean => !!window.matchMedia?.('(hover: none) and (pointer: coarse)').matches

/**
 * True for a key that belongs to an input method, such as the Enter that ends a composition. In Safari that
 * key comes after the end of the composition, and only its code identifies it.
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === 229

/** Enter sends on a desktop; Control or Command with Enter sends everywhere. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || isComposing(event) || event.shiftKey) return false
  return event.ctrlKey || event.metaKey || !isTouch()
}
