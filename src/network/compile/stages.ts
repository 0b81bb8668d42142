// The stages of the compiler that can be disabled, so that each one's benefit can be tested and measured.

/**
 * `passes`: the graph is simplified. `views`: nodes that only move elements become views. `orders`: values
 * are stored in the axis order that their readers need. `groups`: loops are fused. `panels`: constant
 * matrices are laid out for their products when they are loaded. `places`: values share memory.
 */
export const STAGES = ['passes', 'views', 'orders', 'groups', 'panels', 'places'] as const
export type Stage = (typeof STAGES)[number]

/**
 * Parts of stages that measurements can turn off. `folding`: only sizes and small tables are computed before
 * a run. `tiles`: 3 x 3 convolutions multiply each number of their windows. The mapping types: loops of that
 * type stay functions of their own.
 */
export const PARTS = ['folding', 'tiles', 'one-to-one', 'one-to-many', 'many-to-many', 'shuffle'] as const
export type Part = (typeof PARTS)[number]

/** The disabled stages and parts. */
export type LeftOut = ReadonlySet<Stage | Part>
export const NOTHING: LeftOut = new Set()
