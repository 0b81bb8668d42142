// IQ quants. In: superblocks of 256 elements, in which each run of 4 or 8 is a point of a grid. Out: groups,
// by ggml's definitions.
//
//   IQ1_S    f16 d | 32 low bytes of indices | u16 [8] 4 x 3 high bits, 3 bits of scale, shift         50 B
//   IQ1_M    32 low bytes of indices | 16 B of high bits and shifts | u16 [4] 4 scales, 4 bits of d   56 B
//   IQ2_XXS  f16 d | 8 x (4 indices | u32: 4 x 7 bits of signs, 4 bits of scale)                       66 B
//   IQ2_XS   f16 d | u16 [32] 9 bits of index, 7 of signs | u8 [8] two scales                         74 B
//   IQ2_S    f16 d | 32 low bytes of indices | 32 B of signs | 8 B of high bits | u8 [8] two scales    82 B
//   IQ3_XXS  f16 d | 64 indices | u32 [8] as in IQ2_XXS                                               98 B
//   IQ3_S    f16 d | 64 low bytes of indices | 8 B of high bits | 32 B of signs | 4 B of scales       110 B
import { halfTable } from '../../base/half.ts'
import type { CodedGroup, RowViews } from '../coded-group.ts'

export type GridName = 'IQ2_XXS' | 'IQ2_XS' | 'IQ2_S' | 'IQ3_XXS' | 'IQ3_S' | 'IQ1_S'

interface GridData {
  /** The values that one element of a point may have. */
  readonly levels: readonly number[]
  /** Elements per point. */
  readonly width: number
  /** Whether the level indices of each point have an even sum. */
  readonly isEven: boolean
  /** Which points are in the grid, encoded as `iqGrid` describes. */
  readonly skips: string
}

const TWO_BIT = { levels: [8, 25, 43], width: 8, isEven: true }

const DATA: Readonly<Record<GridName, GridData>> = {
  IQ2_XXS: {
    ...TWO_BIT,
    skips:
      '(((((((*()(((**)(*(*-+(*).6--(094(*,(*()-,(*-*()-.1(,3(060*)(*-)(*(233C,J(*,+0-*).*-0+,?,@*-)-1<78' +
      '.I(*054)I>=(*2/+(@+?(O(*0.;51W3-?[3A(**)(**+),(*005+)3+3+,6*-9/2,EP(*0)@<),C70*)*(9*34>JO(3L:<,*7E' +
      'EN*036;C69)R(>[7[[,(*155--GK(*).0978210:PSL*-*>2;D@1,S[N=[=826LW[[E?',
  },
  IQ2_XS: {
    ...TWO_BIT,
    skips:
      '((((((((((((()((((((()(*((()()(,((((((((((*((()(**)(*0((()(*,(*).+1((((((()(*((()((),(*0((()(*,(*,' +
      '+5(*.)(53((((((*)*(**-0+((*05*10*=),((((((()(*((()(*+((*0((()(*,(*0-(.(()009((()(*,()(-*5(*0B-2?(*' +
      '(/-12)>I<(((((((*,(*00,(*0*/7183)(*/(B5,7-/E)*(,21.D-3-:)(1((((((()(*((((((*)*(*0((()(*,(*0)/+(*(.' +
      '(B((()()(,(*0-/(*-*=,+2*>(*0)++8,1*/7N((()(**)(*05(*).(A6@((*,+0,0+*?*;72+-/+85,([+3(*0-+-1(Z.6/.M' +
      '0)=SA@G8+8((()(*+((*0(2(((()0,*:09(/*)(*((.0/16>1:5*/2,(2+W8*+,)(*0./315L11)4**G:(=T;:E79()(,+>>*8' +
      ')()1509;[<11,()?**B(>(:/',
  },
  IQ2_S: {
    ...TWO_BIT,
    skips:
      '((((((((((((()((((((()((((((()(*))(((((((()(*((()(((()()(*((*(*((()(*+((((().)))++((((((()((((((((' +
      '(((((((*(((()()(*((((((((()()((((((()(*((()(*,(((().)()(*,(*0((()(((())(((((((()(*)+.((*((()+)()(*' +
      ',+0,(+)(,8-((((((()(()((()((((((()(())()(*(((((((((((()((((((()(*((()(/()()*(*)*(/(*0((()(((()()((' +
      '((((()(*((()(*,((((((()(*((()(*,(*0)()(*,(*04((((()()+((()(*,(3((()(*,(*/2,*0.;((()(((())((*((+*+)' +
      '.((*((*+((*(*,(*0+-)()*3(/)(((()()(*((()(*,(*0)()(*,(*.)5(*0/:)*(/(*40((*D2-5-(1((((((((((()((((((' +
      '(((((*(*)()(*((()((((((*((((((()(*((()(*,(*(((**)()(*,(3(((((((((((()((((((()(*((()(*,((((((()(*((' +
      '()(*+((*0((()(*,(*02*()(((()(*((()(*-*0((()(*,(*0..(*0B((()((((((()((((((()(*((()(/((((((()(*((()(' +
      '*,(*0)()(*,(*/(5((((((()(*((()(*,(*0((()(*,(*05(*.)B((()(*,(*+,5(*0B/<1)(()((()(*)()(*-*0((()(*,(*' +
      '0/.*0.7+)()(*,(*05(*0+/./H/(*;1-4Q=+((()()()*(*((()+)*(/()(((()(*((()(/(*/())((/(*>((((((()+((()(*' +
      ',(*0((()(*,(*0+1(*/(B)*(/(*:+(32A2(-0+()((((**((()(*,(*0)*(/(*+:(*0@)((()(*,(*0..(*0<)+7/8(*.)A(8)' +
      '[)0)))+*((*:*528*-)(6)(/)(*08.*/ZA/@>15(,()91',
  },
  IQ3_XXS: {
    levels: [4, 12, 20, 28, 36, 44, 52, 62],
    width: 4,
    isEven: true,
    skips:
      '((()()((*,3()(*(*))(*--+(()+(*(),*.)*((,901*,-()*1/@31)(1./(*(*(*((,(3(*+(>(*(*+8*(.+./,)9;)00-N.7' +
      '(*(*()(,6(()(*+4)(+(**((-(-1+)=)7.31,5I(-25+(*(2-**(.+-(4(*-2/.0F.1**-4701;21,.(-)N1.(/*/679-7.2M)' +
      '(.@23+*/27.7+;6,)9+2O=.@/(.576:9*J7:?;.@(((0/=,<4*2-.27/7(0I',
  },
  IQ3_S: {
    levels: [1, 3, 5, 7, 9, 11, 13, 15],
    width: 4,
    isEven: false,
    skips:
      '(((*)((()))(+-,)*))),).**((()+(+**+)+.4+,-(+)(***+*+-*)))4*/-+*).)*-+)4)+*2+)*--*-61)3)+,-+)6,2*)5' +
      '86.))3)+,4+;(()+()))().*)5)*0-()*)+,.*-.)5-)1*)(+--*1*1.**(*--(+,8-2),)4).+)+<.*-.)6N+*4)B),).3+8-' +
      '/()))()))*)+().))*)4(*)*)-*+**+*-.?**1),.)1+1*+)*+0),).-52-0*.*+@*.,04(24/),1C+;+4)2,A.)))*.)),)*)' +
      '1-/)).,)471+)1-1)3@.+,)+(0)+-5/-,+.8-+4.)2,114::G)4)2J+--+**..71,)).-,--+;),,+1,6*-3,),).+J)92(@3)' +
      '1H@8;?,22-@-+-5+**3-,)),.0G-01,-4>,(64,3--*313K3:)[+G)5[+))3)<77.D=9-2,-/3,6[)565*@;<BP)[)+*0)3)3-' +
      '7.26)C*+-*.8@?*5=+-,?Q7G>N',
  },
  IQ1_S: {
    levels: [-1, 0, 1],
    width: 8,
    isEven: false,
    skips:
      '()))))*,)+),-))/,)+),,)+)+(-)))(,-+)+)+)))(.-))/,)+),,)+),--,+))+))**))+)2))/---++(6---)((/))/)++(' +
      '()(()))))))0*))))(()5+3)-)))*(+)--)+2)+),,)+),-+/,)+),,)+),-)+,(-/(*-)+3)))-,)+),,)+),--**,)))),,)' +
      '+)1()+,(-)-+)+)(*3)),*-)))))))+)+-+(((((())+//)-)7))/,,)+)))+)/-))/-+),()(*+,*(()))(()+))-+)*()(()' +
      ')(*+)+))(())))))))((,(((()())(()))(())(()(()(())-)((/(())++)(()))*(((*)()((-**)/+3+/-))))+))(()))-' +
      '-)15))+)*.(()+)(()((++/*())++)0..).))))))++)--+*1)+),,)))),--**,)+),,)))),-)+-.(+-))))((/,,)--,))*' +
      ',)+),-+)--,))*,)+),/))-/(()+)))-/-)+**3---)+)+)(*+))1)*())))))-,),----,(-,)+/1)+),,)+),-)1,)+)1)+)' +
      '/*)+-1)+)-)))-,,),(,)+)1)+),-+)-,)+),,)+),-+/3+))))))7+*++()))+)(())+)-))))(()(,)))))+)),((2-))/-1' +
      ')+++0,1-3*0-))))((,())))+)))),(-*()+))(())++))(())()((((*)(()+(()+)(()(,)))**,())))+))))*(()()+))+' +
      '*++(-))/-*+,.,)+)+)))--)))--*(*(*()+))+++)(((())))(*-)+)((+)))77))-))++51-)(()+)+))+)+)+)(()-)/)-)' +
      '*(+)-)(())(((()+(()))(())(((((((())(()+)-)(())++)+-)+))/)+))(()+)0,))*(+0(-)((((**))))(()((()(((((' +
      ')(((())-)))(()*)(+)(((())((((()())(())((((((()(((((((((()((((())(*((()((((*)(())((()((*)()()((((((' +
      '(**((((((((((((())(*+)(((()*+*)(((,(())+)+.,))))(((())((.,))))+-*()+))(()--)(())(((((((())(()****)' +
      '((((-/*.+(+()-)(**(((+)))).*)(())3/))-/-+(()))))*4/-)))+)-(*)-***()-(*+,*)-+)3+)2(+/((*4-+/6()(*)+' +
      '))))))))(()(())/(*))(((()))+-)))*()5(())()(()*)(().)()*()(*)((,,-,,(()+))))((()(+)*))++)(()*)*6)--' +
      '1)+)---,/,)-+-))))(*((+)(())++*(,,-)(*3+(4)+)+))+(*..*)-+)+)1)+),,()))-,)+),,)+),-)))--)+)))(((,))' +
      '-*,))-,)+),,)+)2)+-,)+),,)+)4+3).*+))+5+3-+)+-))(*)+)(()(,(()))))))))/5+)--)+((+*()+*,-.+-)+),,)+)' +
      ')*-)+-*))+),,)+),(,))/-))))))+))11)-,)+),,)+),-))4)+),,)+),-+((--+)-))/(,-)))--))))+)))))))+,()(()' +
      '+)/)-))+)))--)+-/))))))/)-/)2*))++)/+/))(((()(()/)-(()+-)+))(()(()***())(())(((((((())(()**)+(((()' +
      '(())))))-+*),)-)(*()()-),(+(*((/))-1)--++))(*+(0-+)-/)))))))(())+))))))(()+)(*))-))+)+/00/)))+)+3-' +
      ')((4)+),,)+),-)))2)+),,)+),**)))(6)**))))1,)*)4+)(.++),-+)-,)+),,)+)8--)-*()))*(((-C)))))/)+)-)(()' +
      '-+))(()+))7-+*)*/)**)((*)3++()*))+)+)1)+)2)))2)+),,)+),/+**-/++)+)2,4)+)1)+)2))4)+),,)+)',
  },
}

/** The character '(' skips no candidate. '[' skips 51 and takes none; every other character takes one. */
const FIRST = '('.charCodeAt(0)
const MAX = '['.charCodeAt(0) - FIRST

const grids = new Map<GridName, Int8Array>()

/**
 * The points of a grid in sequence. Made at first use.
 *
 * Grids are sorted: with n levels, a point is a number in base n whose lowest digit is its first element.
 * Each character of `skips` gives the number of candidates between one point and the next.
 */
export function iqGrid(name: GridName): Int8Array {
  const made = grids.get(name)
  if (made !== undefined) return made
  const { levels, width, isEven, skips } = DATA[name]
  const n = levels.length
  const candidates = Array.from({ length: n ** width }, (_, number) =>
    Array.from({ length: width }, (_, i) => Math.floor(number / n ** i) % n),
  ).filter((digits) => !isEven || digits.reduce((sum, digit) => sum + digit) % 2 === 0)
  const elements: number[] = []
  let place = 0
  for (let i = 0; i < skips.length; i++) {
    const skip = skips.charCodeAt(i) - FIRST
    place += skip
    if (skip < MAX) for (const digit of candidates[place++]!) elements.push(levels[digit]!)
  }
  const grid = Int8Array.from(elements)
  grids.set(name, grid)
  return grid
}

/** hot: without a branch, since signs are practically random. */
function signed(value: number, sign: number): number {
  const mask = -(sign & 1)
  return (value ^ mask) - mask
}

/** Writes 8 elements, starting at entry `from` of a grid; bit i of `signs` negates element i. */
function placeEight(grid: Int8Array, from: number, signs: number, codes: Int16Array, at: number): void {
  for (let i = 0; i < 8; i++) codes[at + i] = signed(grid[from + i]!, signs >>> i)
}

/** Like `placeEight`, for two points of 4 elements. */
function placeFours(
  grid: Int8Array,
  first: number,
  second: number,
  signs: number,
  codes: Int16Array,
  at: number,
): void {
  for (let i = 0; i < 4; i++) {
    codes[at + i] = signed(grid[4 * first + i]!, signs >>> i)
    codes[at + 4 + i] = signed(grid[4 * second + i]!, signs >>> (i + 4))
  }
}

/** Adds the eighth sign to seven, making the number of minus signs even. */
function evenSigns(seven: number): number {
  // Bit n of 0x6996 is the parity of the number n.
  return seven | (((0x6996 >>> ((seven ^ (seven >>> 4)) & 15)) & 1) << 7)
}

export function readIQ2XXS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 66
  const from = at + 2 + 8 * (index & 7)
  const word = u16[from / 2 + 2]! | (u16[from / 2 + 3]! << 16)
  scales.fill(halfTable()[u16[at / 2]!]! * (0.5 + (word >>> 28)) * 0.25)
  const grid = iqGrid('IQ2_XXS')
  for (let l = 0; l < 4; l++)
    placeEight(grid, 8 * u8[from + l]!, evenSigns((word >>> (7 * l)) & 127), codes, 8 * l)
}

export function readIQ2XS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 74
  const group = index & 7
  readTwoScales(halfTable()[u16[at / 2]!]!, u8[at + 66 + group]!, scales)
  const grid = iqGrid('IQ2_XS')
  for (let l = 0; l < 4; l++) {
    const word = u16[at / 2 + 1 + 4 * group + l]!
    placeEight(grid, 8 * (word & 511), evenSigns(word >>> 9), codes, 8 * l)
  }
}

export function readIQ2S({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 82
  const group = index & 7
  readTwoScales(halfTable()[u16[at / 2]!]!, u8[at + 74 + group]!, scales)
  const high = u8[at + 66 + group]!
  const grid = iqGrid('IQ2_S')
  for (let l = 0; l < 4; l++) {
    const from = at + 2 + 4 * group + l
    placeEight(grid, 8 * (u8[from]! | (((high >>> (2 * l)) & 3) << 8)), u8[from + 32]!, codes, 8 * l)
  }
}

/** One nibble per half of a group. */
function readTwoScales(d: number, pair: number, scales: Float32Array): void {
  scales[0] = d * (0.5 + (pair & 15)) * 0.25
  scales[1] = d * (0.5 + (pair >>> 4)) * 0.25
}

export function readIQ3XXS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 98
  const group = index & 7
  const from = at + 2 + 8 * group
  const words = (at + 66) / 2 + 2 * group
  const word = u16[words]! | (u16[words + 1]! << 16)
  scales.fill(halfTable()[u16[at / 2]!]! * (0.5 + (word >>> 28)) * 0.5)
  const grid = iqGrid('IQ3_XXS')
  for (let l = 0; l < 4; l++) {
    const signs = evenSigns((word >>> (7 * l)) & 127)
    placeFours(grid, u8[from + 2 * l]!, u8[from + 2 * l + 1]!, signs, codes, 8 * l)
  }
}

/** Levels are odd numbers from -15 to 15, so codes from 0 to 15 can represent them: level = 2 * code - 15. */
export function readIQ3S({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 110
  const group = index & 7
  const scale = (u8[at + 106 + (group >>> 1)]! >>> (4 * (group & 1))) & 15
  const d = halfTable()[u16[at / 2]!]! * (2 * scale + 1)
  out.scales.fill(2 * d)
  out.minimums.fill(-15 * d)
  const grid = iqGrid('IQ3_S')
  const high = u8[at + 66 + group]!
  const from = at + 2 + 8 * group
  for (let l = 0; l < 4; l++) {
    const first = u8[from + 2 * l]! | (((high >>> (2 * l)) & 1) << 8)
    const second = u8[from + 2 * l + 1]! | (((high >>> (2 * l + 1)) & 1) << 8)
    placeFours(grid, first, second, u8[at + 74 + 4 * group + l]!, out.codes, 8 * l)
  }
  for (let i = 0; i < 32; i++) out.codes[i] = (out.codes[i]! + 15) >> 1
}

/**
 * Elements are -1, 0 or 1, shifted up or down by an eighth. Codes are greater by 1, which the minimum
 * compensates.
 */
export function readIQ1S({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 50
  const group = index & 7
  const word = u16[at / 2 + 17 + group]!
  const d = halfTable()[u16[at / 2]!]! * (2 * ((word >>> 12) & 7) + 1)
  out.scales.fill(d)
  out.minimums.fill(d * (word & 0x8000 ? -1.125 : -0.875))
  const grid = iqGrid('IQ1_S')
  for (let l = 0; l < 4; l++) {
    const from = 8 * (u8[at + 2 + 4 * group + l]! | (((word >>> (3 * l)) & 7) << 8))
    for (let i = 0; i < 8; i++) out.codes[8 * l + i] = grid[from + i]! + 1
  }
}

/** Like IQ1_S, but the shift changes every 8 elements, so codes count eighths. */
export function readIQ1M({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 56
  const group = index & 7
  const words = at / 2 + 24
  let pattern = 0
  for (let i = 0; i < 4; i++) pattern |= (u16[words + i]! >>> 12) << (4 * i)
  const packed = u16[words + (group >>> 1)]! >>> (6 * (group & 1))
  const d = halfTable()[pattern]! / 8
  for (let h = 0; h < 2; h++) scales[h] = d * (2 * ((packed >>> (3 * h)) & 7) + 1)
  const grid = iqGrid('IQ1_S')
  for (let l = 0; l < 4; l++) {
    const high = u8[at + 32 + 2 * group + (l >>> 1)]! >>> (4 * (l & 1))
    const from = 8 * (u8[at + 4 * group + l]! | ((high & 7) << 8))
    const shift = high & 8 ? -1 : 1
    for (let i = 0; i < 8; i++) codes[8 * l + i] = 8 * grid[from + i]! + shift
  }
}
