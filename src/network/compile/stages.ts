// The stages of the compiler that may be left out, so that what each brings can be tested and measured.

/**
 * `passes`: simplifies the graph. `views`: what only moves elements is a view. `orders`: values lie in the
 * order of axes that their readers want. `groups`: loops are fused. `panels`: constant matrices are laid out
 * for their products when they are loaded. `places`: values share memory.
 */
export const STAGES = ['passes', 'views', 'orders', 'groups', 'panels', 'places'] as const
export type Stage = (typeof STAGES)[number]

/** The stages that are left out. */
export type LeftOut = ReadonlySet<Stage>
export const NOTHING: LeftOut = new Set()
