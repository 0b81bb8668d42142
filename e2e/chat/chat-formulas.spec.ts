// Formulas. In: malicious TeX, and random TeX. Out: whether formulas contain only allowed elements,
// attributes and styles, and stay near their lines.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, type Page, test } from '@playwright/test'
import fc from 'fast-check'
import { MAX_SPILL } from '../../demo/src/conversation/rich/tame-math.ts'

const ASSETS = fileURLToPath(new URL('../../build/demo/assets', import.meta.url))
const ATTRIBUTES =
  'accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowalign rowlines rowspacing rspace scriptlevel separator stretchy style symmetric voffset width'
const STYLES =
  /^(padding-(top|right|bottom|left)|border-(top|right|bottom|left)-(width|style|color)|margin-left|width|height|right|bottom|position|display|justify-content|text-align|white-space|transform|font-weight|font-style|math-depth|color|background-color)$/
/** Tolerance for slants and accents, which are outside the bounds of boxes. */
const SLACK = 1

async function openFormulas(page: Page): Promise<void> {
  await page.goto('/roofline.html')
  const name = readdirSync(ASSETS).find((each) => /^formulas-.*\.js$/.test(each))
  await page.evaluate(async (path) => {
    const found = Object.values(await import(path)).find((value) => typeof value === 'function')
    const line = document.createElement('p')
    document.body.replaceChildren(line)
    Object.assign(globalThis, { formula: found, line })
  }, `/assets/${name}`)
}

interface Shown {
  readonly attributes: readonly string[]
  readonly styles: readonly string[]
  readonly foreign: readonly string[]
  /** How far boxes extend outside the formula's own, in em. */
  readonly across: number
  readonly down: number
}

type Formula = readonly [tex: string, isDisplay: boolean]

/** How each formula is rendered; undefined if it stays source text. */
const shownAll = (page: Page, formulas: readonly Formula[]): Promise<(Shown | undefined)[]> =>
  page.evaluate((sources) => {
    const { formula, line } = globalThis as unknown as {
      formula: (tex: string, isDisplay: boolean) => Element | undefined
      line: HTMLElement
    }
    return sources.map(([source, display]) => {
      const math = formula(source, display)
      if (math === undefined) return undefined
      line.replaceChildren('before ', math, ' after')
      const em = Number.parseFloat(getComputedStyle(math).fontSize)
      const own = math.getBoundingClientRect()
      const elements = [math, ...math.querySelectorAll('*')]
      let across = 0
      let down = 0
      for (const element of elements) {
        const box = element.getBoundingClientRect()
        if (box.width === 0 && box.height === 0) continue
        across = Math.max(across, (own.left - box.left) / em, (box.right - own.right) / em)
        down = Math.max(down, (own.top - box.top) / em, (box.bottom - own.bottom) / em)
      }
      return {
        attributes: [...new Set(elements.flatMap((each) => each.getAttributeNames()))],
        styles: [...new Set(elements.flatMap((each) => [...(each as MathMLElement).style]))],
        foreign: elements
          .filter(({ namespaceURI }) => namespaceURI !== 'http://www.w3.org/1998/Math/MathML')
          .map(({ localName }) => localName),
        across,
        down,
      }
    })
  }, formulas)

const shown = async (page: Page, tex: string, isDisplay: boolean): Promise<Shown | undefined> =>
  (await shownAll(page, [[tex, isDisplay]]))[0]

/** Throws for an unsafe formula. Returns whether it was typeset. */
function expectTame(found: Shown | undefined): boolean {
  if (found === undefined) return false
  expect(found.attributes.filter((name) => !ATTRIBUTES.split(' ').includes(name))).toEqual([])
  expect(found.styles.filter((name) => !STYLES.test(name))).toEqual([])
  expect(found.foreign).toEqual([])
  expect(found.across).toBeLessThanOrEqual(MAX_SPILL.across + SLACK)
  expect(found.down).toBeLessThanOrEqual(MAX_SPILL.down + SLACK)
  return true
}

const check = async (page: Page, tex: string, isDisplay: boolean): Promise<boolean> =>
  expectTame(await shown(page, tex, isDisplay))

test("formulas cannot use the page's class names and ids, and stay source text if they would leave their lines", async ({
  page,
}) => {
  await openFormulas(page)
  const refused = [
    'x\\hspace{-999em}y',
    '\\raisebox{-999em}{x}',
    '\\raisebox{50em}{x}',
    '\\rule[-999em]{1em}{1em}',
    '\\rule{1em}{999in}\\kern-15em\\kern-15em x',
    `${'\\raisebox{2em}{'.repeat(20)}x${'}'.repeat(20)}`,
    `${'\\!'.repeat(900)}x`,
    `\\rlap{${'x'.repeat(200)}}`,
    `\\llap{${'x'.repeat(200)}}`,
    '\\smash{\\rule{1em}{19em}}',
    `\\smash{${'\\frac{1}{'.repeat(30)}x${'}'.repeat(30)}}`,
    '\\href{javascript:alert(1)}{x}',
    '\\htmlId{system}{x}',
    '\\class{shell}{x}',
    '\\ref{system}',
  ]
  for (const tex of refused) expect(await shown(page, tex, true), tex).toBeUndefined()
  const set = [
    '\\tag{q} x \\label{system}',
    '\\begin{equation} x = y \\tag{shell} \\label{system} \\end{equation}',
    '\\text{<img src=x onerror=alert(1)>}',
  ]
  for (const tex of set) expect(await check(page, tex, true), tex).toBe(true)
})

test('formulas as people write them are typeset', async ({ page }) => {
  await openFormulas(page)
  const formulas = [
    'x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a} + \\sum_{i=0}^n \\int_0^1 f_i(t)\\,dt + \\prod_k \\lambda_k',
    '\\iint\\!\\!\\int_V \\nabla \\cdot \\vec{F}\\,dV = \\oint_{\\partial V} \\hat{n} \\cdot \\vec{F}\\,dS',
    '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}^{-1} = \\frac{1}{\\det A}\\begin{bmatrix} d & -b \\\\ -c & a \\end{bmatrix}',
    'f(x) = \\begin{cases} x^2 & \\text{if } x > 0 \\\\ 0 & \\text{otherwise} \\end{cases}',
    '\\begin{array}{|c|r|} \\hline n & n^2 \\\\ \\hline 1 & 1 \\\\ 2 & 4 \\\\ \\hline \\end{array}',
    '\\underbrace{a + b + c}_{\\text{three terms}} \\overline{AB} \\widehat{xyz} \\Bigg( \\left. \\frac{dy}{dx} \\right|_{x=0} \\Bigg)',
    '\\ce{2H2 + O2 -> 2H2O} \\quad \\boxed{E = mc^2} \\quad \\textcolor{red}{x} \\quad \\Large X \\; \\LaTeX',
    '\\sum_{\\mathclap{1 \\le i \\le n}} x_i \\xrightarrow[T]{\\Delta} \\smash[b]{\\sqrt{y}} \\phantom{x} \\not= \\binom{n}{k}',
  ]
  for (const tex of formulas)
    for (const isDisplay of [true, false]) expect(await check(page, tex, isDisplay), tex).toBe(true)
})

const size = fc.oneof(
  fc.constantFrom(
    '-999em',
    '999em',
    '-20em',
    '20em',
    '-3em',
    '0.5em',
    '5ex',
    '1in',
    '-12cm',
    '9999px',
    '-1sp',
    '0pt',
  ),
  fc
    .tuple(fc.integer({ min: -40, max: 40 }), fc.constantFrom('em', 'ex', 'pt', 'px', 'mm', 'mu'))
    .map((it) => it.join('')),
)
const leaf = fc.oneof(
  fc.constantFrom(...'abxyzn0123+-=<(,'.split('')),
  fc.constantFrom(
    '\\alpha',
    '\\sum',
    '\\int',
    '\\infty',
    '\\to',
    '\\quad',
    '\\!',
    '\\;',
    '\\Huge',
    '\\tiny',
    '\\displaystyle',
    '\\nobreak',
    '\\\\',
  ),
  fc.constantFrom(
    '\\href{javascript:alert(1)}{x}',
    '\\label{system}',
    '\\tag{shell}',
    '\\htmlId{a}{b}',
    '\\ref{system}',
    '\\url{x}',
  ),
  size.map((each) => `\\hspace{${each}}`),
  size.map((each) => `\\kern ${each} `),
  size.map((each) => `\\mkern ${each} `),
  fc.tuple(size, size, size).map(([up, wide, high]) => `\\rule[${up}]{${wide}}{${high}}`),
)
const { tex } = fc.letrec<{ tex: string; one: string }>((tie) => ({
  tex: fc.array(tie('one'), { maxLength: 6 }).map((parts) => parts.join(' ')),
  one: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaf,
    fc
      .tuple(
        fc.constantFrom(
          ...'sqrt hat widehat overline underbrace text mathbf boxed fbox smash rlap llap mathrlap mathllap mathclap phantom vphantom hphantom cancel xcancel vec reflectbox colorbox{red} textcolor{#f00} fcolorbox{red}{blue} xrightarrow substack mathbin vcenter'.split(
            ' ',
          ),
        ),
        tie('tex'),
      )
      .map(([name, inner]) => `\\${name}{${inner}}`),
    fc.tuple(size, tie('tex')).map(([by, inner]) => `\\raisebox{${by}}{$${inner}$}`),
    fc.tuple(size, tie('tex')).map(([by, inner]) => `\\raise ${by} {${inner}}`),
    fc.tuple(tie('tex'), tie('tex')).map(([over, under]) => `\\frac{${over}}{${under}}`),
    fc.tuple(tie('one'), tie('tex'), tie('tex')).map(([base, low, high]) => `{${base}}_{${low}}^{${high}}`),
    fc
      .tuple(tie('tex'), size, tie('tex'))
      .map(([a, by, b]) => `\\begin{array}{|c|r|} ${a} & b \\\\[${by}] ${b} \\end{array}`),
    fc
      .tuple(fc.constantFrom('align', 'matrix', 'cases', 'gather', 'equation'), tie('tex'))
      .map(([name, inner]) => `\\begin{${name}} ${inner} \\end{${name}}`),
    tie('tex').map((inner) => `\\left( ${inner} \\right|`),
    tie('tex').map((inner) => `\\def\\a{${inner}}\\a\\a`),
  ),
}))

test('no formula from random TeX has a name, a foreign style or a box far outside its line', async ({
  page,
}) => {
  await openFormulas(page)
  const asked = { numRuns: 500, seed: Number(process.env.HALFBYTE_SEED ?? 26) }
  // Renders all in one call, because each call waits for the page. Only formulas being shrunk get their own
  // calls.
  const drawn = fc.sample(fc.tuple(tex, fc.boolean()), asked)
  const looks = await shownAll(page, drawn)
  const known = new Map(drawn.map((formula, i) => [JSON.stringify(formula), looks[i]]))
  let set = 0
  await fc.assert(
    fc.asyncProperty(fc.tuple(tex, fc.boolean()), async (formula) => {
      const key = JSON.stringify(formula)
      if (expectTame(known.has(key) ? known.get(key) : await shown(page, ...formula))) set += 1
    }),
    asked,
  )
  expect(set, 'formulas that were typeset').toBeGreaterThan(50)
})
