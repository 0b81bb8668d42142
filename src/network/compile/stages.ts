// The stages of the compiler that can be disabled, so that each one's benefit can be tested and measured.

/**
 * `passes`: the graph is simplified. `views`: nodes that only move elements become views. `orders`: values
 * are stored in the axis order that their readers need. `groups`: loops are fused. `panels`: constant
 * matrices are laid out for their products when they are loaded. `places`: values share memory.
 */
export const STAGES = ['passes', 'views', 'orders', 'groups', 'panels', 'places'] as const
export type Stage = (typeof STAGES)[number]

/** The disabled stages. */
export type LeftOut = ReadonlySet<Stage>
export const NOTHING: LeftOut = new Set()
