// MathML sanitiser. In: MathML that Temml made from untrusted TeX. Out: the same with only listed elements,
// attributes and styles, or a rejection. It uses none of the page's names, and shows nothing far outside the
// formula's line.

const MATHML = 'http://www.w3.org/1998/Math/MathML'
const ELEMENTS = new Set(
  (
    'math mrow mi mn mo mtext ms mspace mstyle mpadded mphantom menclose mfrac msqrt mroot msub msup msubsup ' +
    'munder mover munderover mmultiscripts mprescripts none mtable mtr mtd'
  ).split(' '),
)

/** Maximum size in a formula, in em. */
const MAX_SIZE = 20
/** Maximum factor by which nested size changes together may enlarge text. */
const MAX_SCALE = 5
/** How far all parts together may extend outside their boxes, in em. */
export const MAX_SPILL = { across: 10, down: 3 }

const FLAG = /^(true|false)$/
const WORDS = /^[a-z]+( [a-z]+)*$/
const COLOUR = /^(#[\da-f]{3,8}|[a-z]+|rgba?\([\d.,% ]+\))$/i
/** Sizes are checked in em. */
const SIZE = 'size'
type Rule = RegExp | typeof SIZE

/** Allowed attribute values. Anything not listed is removed: above all ids, classes and addresses. */
const ATTRIBUTES = new Map<string, Rule>([
  ...'displaystyle stretchy fence separator symmetric largeop movablelimits accent accentunder'
    .split(' ')
    .map((name): [string, Rule] => [name, FLAG]),
  ...'width height depth voffset lspace rspace linethickness minsize maxsize mathsize rowspacing columnspacing'
    .split(' ')
    .map((name): [string, Rule] => [name, SIZE]),
  ...'form linebreak notation columnalign rowalign columnlines rowlines'
    .split(' ')
    .map((name): [string, Rule] => [name, WORDS]),
  ['display', /^(block|inline)$/],
  ['scriptlevel', /^[+-]?\d$/],
  ['mathvariant', /^[a-z-]+$/],
  ['mathcolor', COLOUR],
  ['mathbackground', COLOUR],
])

/** Allowed style values, by full property name. */
const STYLES = new Map<string, Rule>([
  ...['top', 'right', 'bottom', 'left'].flatMap((side): [string, Rule][] => [
    [`padding-${side}`, SIZE],
    [`border-${side}-width`, SIZE],
    [`border-${side}-style`, /^(solid|dashed|double)$/],
    [`border-${side}-color`, COLOUR],
  ]),
  ['margin-left', SIZE],
  ['width', SIZE],
  ['height', SIZE],
  ['right', /^0(px)?$/],
  ['bottom', /^0(px)?$/],
  ['position', /^(absolute|relative)$/],
  ['display', /^(block math|flex)$/],
  ['justify-content', /^center$/],
  ['text-align', /^(left|center|right)$/],
  ['white-space', /^pre-line$/],
  ['transform', /^scaleX\(-1\)$/],
  ['font-weight', /^bold$/],
  ['font-style', /^(italic|normal)$/],
  ['math-depth', /^\d$/],
  ['color', COLOUR],
  ['background-color', COLOUR],
])

/** Units in em, for text of 16 pixels or 12 points; percentages are not allowed. */
const UNITS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    '': 1,
    em: 1,
    ex: 0.5,
    mu: 1 / 18,
    px: 1 / 16,
    pt: 1 / 12,
    bp: 1 / 12,
    pc: 1,
    mm: 0.24,
    cm: 2.4,
    in: 6,
    '%': 0,
    width: 0,
  }),
)

/** Thrown for a formula with forbidden content. */
class TooMuch extends Error {}

/** Removes everything unlisted; false if the formula must be shown as source. */
export function isTamed(math: Element): boolean {
  try {
    for (const element of [math, ...math.querySelectorAll('*')]) tame(element)
    const spill = { across: 0, down: 0 }
    measure(math, 1, spill)
    return spill.across <= MAX_SPILL.across && spill.down <= MAX_SPILL.down
  } catch (error) {
    if (error instanceof TooMuch) return false
    throw error
  }
}

function tame(element: Element): void {
  if (element.namespaceURI !== MATHML || !ELEMENTS.has(element.localName)) throw new TooMuch()
  const styles = stylesOf(element)
  for (const { name, value } of [...element.attributes])
    if (!isListed(ATTRIBUTES.get(name), value)) element.removeAttribute(name)
  const { style } = element as MathMLElement
  for (const [name, value] of styles) if (isListed(STYLES.get(name), value)) style.setProperty(name, value)
}

function stylesOf(element: Element): [string, string][] {
  const { style } = element as MathMLElement
  return [...style].map((name) => [name, style.getPropertyValue(name)])
}

function isListed(rule: Rule | undefined, value: string): boolean {
  if (rule === undefined) return false
  if (rule !== SIZE) return rule.test(value)
  return value.split(' ').every((each) => Math.abs(ems(each)) <= MAX_SIZE)
}

function ems(value: string): number {
  const [, number, unit = ''] = /^([+-]?\d*\.?\d+)([a-z]+|%)?$/.exec(value) ?? []
  const factor = UNITS.get(unit)
  if (number === undefined || factor === undefined) return Number.POSITIVE_INFINITY
  const size = Number(number) * factor
  if (Math.abs(size) > MAX_SIZE) throw new TooMuch()
  return size
}

interface Extent {
  readonly width: number
  readonly height: number
}

/** Maximum size, in em, of a character with its accents and line. */
const CHARACTER = { width: 1.5, height: 2 }
/** Elements that stack parts. */
const STACKED = new Set(
  'mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts mtable'.split(' '),
)

/**
 * An upper bound of an element's size in em, and in `spill` of what extends outside its box: content that is
 * larger than its box or was moved.
 */
function measure(element: Element, outer: number, spill: { across: number; down: number }): Extent {
  const size = (name: string) => {
    const value = element.getAttribute(name)
    return value === null ? undefined : ems(value) * scale
  }
  const styles = new Map(stylesOf(element).map(([name, value]) => [name, value]))
  const styled = (name: string) => ems(styles.get(name) || '0') * scale
  const mathsize = element.getAttribute('mathsize')
  const scale = mathsize === null ? outer : outer * ems(mathsize)
  if (scale > MAX_SCALE) throw new TooMuch()
  const parts = [...element.children].map((child) => measure(child, scale, spill))
  const letters = element.children.length > 0 ? 0 : (element.textContent ?? '').length
  const isStack = STACKED.has(element.localName)
  const heights = parts.map(({ height }) => height)
  const inside: Extent = {
    width: parts.reduce((sum, { width }) => sum + width, letters * CHARACTER.width * scale),
    height: isStack
      ? heights.reduce((sum, height) => sum + height, scale)
      : Math.max(letters === 0 ? 0 : CHARACTER.height * scale, ...heights),
  }
  const width = size('width')
  const height = size('height')
  const depth = size('depth')
  if (element.localName === 'mpadded') {
    if (width !== undefined) spill.across += Math.max(0, inside.width - width)
    if (height !== undefined || depth !== undefined)
      spill.down += Math.max(0, inside.height - Math.max(0, height ?? 0) - Math.max(0, depth ?? 0))
    spill.across += Math.abs(size('lspace') ?? 0)
    spill.down += Math.abs(size('voffset') ?? 0)
  } else {
    for (const name of ['width', 'lspace', 'rspace']) spill.across += Math.max(0, -(size(name) ?? 0))
    spill.down += Math.max(0, -(height ?? 0)) + Math.max(0, -(depth ?? 0))
  }
  spill.across += Math.max(0, -styled('margin-left'))
  if (styles.get('position') === 'absolute') {
    spill.across += inside.width
    spill.down += inside.height
  }
  const sides = (...names: string[]) => names.reduce((sum, name) => sum + Math.abs(styled(name)), 0)
  return {
    width: Math.max(inside.width, width ?? 0) + sides('padding-left', 'padding-right', 'margin-left'),
    height:
      Math.max(inside.height, (height ?? 0) + (depth ?? 0), size('minsize') ?? 0) +
      sides('padding-top', 'padding-bottom'),
  }
}
