// The stages of the compiler that can be disabled, so that the benefit of each can be tested and measured.

/**
 * `passes`: simplifies the graph. `views`: what only moves elements is a view. `orders`: values are stored in
 * the order of axes that their readers need. `groups`: loops are fused. `panels`: constant matrices are laid
 * out for their products when they are loaded. `places`: values share memory.
 */
export const STAGES = ['passes', 'views', 'orders', 'groups', 'panels', 'places'] as const
export type Stage = (typeof STAGES)[number]

/** The disabled stages. */
export type LeftOut = ReadonlySet<Stage>
export const NOTHING: LeftOut = new Set()
