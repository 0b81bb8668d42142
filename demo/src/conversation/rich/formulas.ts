// Formulas. In: TeX. Out: MathML without active content.
import temml from 'temml'
import { isTamed } from './tame-math.ts'

/** Characters of TeX beyond which a formula stays source. */
const MOST = 4000
/** Maximum number of macro expansions per formula; a chain of macros could grow forever. */
const MAX_MACROS = 200
/** Maximum sizes in a formula, in em and in characters of a rule. */
const MAX_SIZE: [number, number] = [20, 500]

/**
 * Returns undefined if this isn't a complete formula, or if it would extend beyond its line.
 */
export function formula(tex: string, displayMode: boolean): Element | undefined {
  if (tex.length > MOST) return undefined
  const holder = document.createElement('span')
  try {
    temml.render(tex, holder, {
      displayMode,
      throwOnError: true,
      trust: false,
      maxSize: MAX_SIZE,
      maxExpand: MAX_MACROS,
    })
  } catch {
    return undefined
  }
  const math = holder.querySelector('math')
  return math !== null && isTamed(math) ? math : undefined
}
