// The WebAssembly instructions that the compiler writes, keyed by their names in the specification.

/** Single-byte opcodes. */
const PLAIN = {
  'i32.eqz': 0x45,
  'i32.eq': 0x46,
  'i32.lt_s': 0x48,
  'i32.lt_u': 0x49,
  'i32.gt_s': 0x4a,
  'i32.ge_s': 0x4e,
  'i32.ge_u': 0x4f,
  'i32.add': 0x6a,
  'i32.sub': 0x6b,
  'i32.mul': 0x6c,
  'i32.div_u': 0x6e,
  'i32.rem_u': 0x70,
  'i32.and': 0x71,
  'i32.or': 0x72,
  'i32.xor': 0x73,
  'i32.shl': 0x74,
  'i32.shr_s': 0x75,
  'i32.wrap_i64': 0xa7,
  'i64.lt_s': 0x53,
  'i64.add': 0x7c,
  'i64.mul': 0x7e,
  'i64.or': 0x84,
  'i64.shl': 0x86,
  'i64.shr_s': 0x87,
  'i64.shr_u': 0x88,
  'i64.extend_i32_s': 0xac,
  'i64.extend_i32_u': 0xad,
  'f64.mul': 0xa2,
  'f32.demote_f64': 0xb6,
  'f64.convert_i64_s': 0xb9,
  select: 0x1b,
} as const

/** Opcodes after the prefix 0xfd, in LEB128. */
const VECTOR = {
  'i32x4.splat': 0x11,
  'f32x4.splat': 0x13,
  'i32x4.extract_lane': 0x1b,
  'i32x4.eq': 0x37,
  'i32x4.lt_s': 0x39,
  'i32x4.le_s': 0x3d,
  'f32x4.eq': 0x41,
  'f32x4.ne': 0x42,
  'f32x4.lt': 0x43,
  'f32x4.le': 0x45,
  'v128.not': 0x4d,
  'v128.and': 0x4e,
  'v128.or': 0x50,
  'v128.xor': 0x51,
  'v128.bitselect': 0x52,
  'v128.any_true': 0x53,
  'f32x4.demote_f64x2_zero': 0x5e,
  'f64x2.promote_low_f32x4': 0x5f,
  'i8x16.narrow_i16x8_u': 0x66,
  'f32x4.ceil': 0x67,
  'f32x4.floor': 0x68,
  'f32x4.trunc': 0x69,
  'f32x4.nearest': 0x6a,
  'i16x8.narrow_i32x4_s': 0x85,
  'i16x8.extend_low_i8x16_u': 0x89,
  'i32x4.abs': 0xa0,
  'i32x4.neg': 0xa1,
  'i32x4.extend_low_i16x8_u': 0xa9,
  'i32x4.shl': 0xab,
  'i32x4.shr_s': 0xac,
  'i32x4.shr_u': 0xad,
  'i32x4.add': 0xae,
  'i32x4.sub': 0xb1,
  'i32x4.mul': 0xb5,
  'i32x4.min_s': 0xb6,
  'i32x4.max_s': 0xb8,
  'i32x4.dot_i16x8_s': 0xba,
  'i64x2.extmul_low_i32x4_s': 0xdc,
  'i64x2.extmul_high_i32x4_s': 0xdd,
  'f32x4.abs': 0xe0,
  'f32x4.neg': 0xe1,
  'f32x4.sqrt': 0xe3,
  'f32x4.add': 0xe4,
  'f32x4.sub': 0xe5,
  'f32x4.mul': 0xe6,
  'f32x4.div': 0xe7,
  'f32x4.min': 0xe8,
  'f32x4.max': 0xe9,
  'f32x4.pmin': 0xea,
  'f32x4.pmax': 0xeb,
  'f64x2.add': 0xf0,
  'f64x2.sub': 0xf1,
  'f64x2.mul': 0xf2,
  'f64x2.div': 0xf3,
  'i32x4.trunc_sat_f32x4_s': 0xf8,
  'f32x4.convert_i32x4_s': 0xfa,
  'i32x4.trunc_sat_f64x2_s_zero': 0xfc,
  'f64x2.convert_low_i32x4_s': 0xfe,
  'f32x4.relaxed_madd': 0x105,
  'i32x4.relaxed_dot_i8x16_i7x16_add_s': 0x113,
} as const

/** Opcodes followed by an alignment and an offset. */
const MEMORY = {
  'v128.load': 0x00,
  'v128.load8x8_s': 0x01,
  'v128.load16_splat': 0x08,
  'v128.load32_splat': 0x09,
  'v128.store': 0x0b,
  'v128.load32_zero': 0x5c,
} as const

/** The exponents of the alignments that opcodes state, for those that access less than four bytes. */
export const ALIGNMENTS: Partial<Readonly<Record<keyof typeof MEMORY, number>>> = { 'v128.load16_splat': 1 }

export const LOAD_LANE = 0x56
export const STORE_LANE = 0x5a
export const STORE_HALF = 0x5b
export const REPLACE_INTEGER_LANE = 0x1c
export const REPLACE_FLOAT_LANE = 0x20
export const EXTRACT_LANE = VECTOR['i32x4.extract_lane']
export const SHUFFLE = 0x0d
export const VECTOR_CONST = 0x0c
export const VECTOR_PREFIX = 0xfd

export type PlainName = keyof typeof PLAIN
export type VectorName = Exclude<keyof typeof VECTOR, 'i32x4.extract_lane'>
export type MemoryName = keyof typeof MEMORY

export const plainOpcode = (name: PlainName): number => PLAIN[name]
export const vectorOpcode = (name: VectorName): number => VECTOR[name]
export const memoryOpcode = (name: MemoryName): number => MEMORY[name]
