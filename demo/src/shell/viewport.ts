// Viewport. In: the visible part of the page. Out: the property --visible-height, for browsers whose keyboard
// covers the page instead of resizing it.

/** Safari lays the keyboard over the page; the composer must stay above it. */
export function followVisualViewport(): void {
  const viewport = window.visualViewport
  if (viewport === null) return
  const root = document.documentElement
  viewport.addEventListener('resize', () => {
    // A zoomed-in page is supposed to be larger than its visible part.
    const isCovered = viewport.scale === 1 && viewport.height < window.innerHeight - 1
    if (isCovered) root.style.setProperty('--visible-height', `${viewport.height}px`)
    else root.style.removeProperty('--visible-height')
    if (isCovered) window.scrollTo(0, 0)
  })
}
