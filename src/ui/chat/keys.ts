// Keys. In: what a person presses. Out: what it means.

/** True where a finger types: there Enter makes a new line, as in other apps of a phone. */
export const isTouch = (): boolean => !!window.matchMedia?.('(hover: none) and (pointer: coarse)').matches

/**
 * True for a key that belongs to an input method, such as the Enter that ends a composition. In Safari that
 * one comes after the composition's end, and only its code tells.
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === 229

/** Enter sends at a desktop; Control or Command with Enter sends everywhere. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || isComposing(event) || event.shiftKey) return false
  return event.ctrlKey || event.metaKey || !isTouch()
}
