// Loops of x64 instructions like those that V8 makes of the kernels of many rows, as the text of a C program.

/** A named loop. `dots`: integer dots in one pass of `body`, instructions in Intel's syntax. */
export interface Loop {
  readonly name: string
  readonly dots: number
  readonly body: readonly string[]
  /** Bytes of weights in one pass. */
  readonly bytes: number
}

const dot = (sum: string, codes: string, splat: string) => `%{vex%} vpdpbusd ${sum}, ${codes}, ${splat}`

/** Instructions that do not depend on the dots next to them. */
const OTHERS = {
  vmulps: 'xmm8, xmm9',
  vpmulld: 'xmm8, xmm9',
  vpmaddubsw: 'xmm8, xmm9',
  vaddps: 'xmm8, xmm9',
  vpaddd: 'xmm8, xmm9',
  vpand: 'xmm8, xmm9',
  vcvtdq2ps: 'xmm8',
  vpsrlw: 'xmm8, 4',
  vpshufd: 'xmm8, 0',
  vbroadcastss: 'dword ptr [rsi]',
} as const

/** Two dots for each sum, each followed by another instruction: whether both share units of the processor. */
export const mixes = (): Loop[] => {
  const loop = (name: string, sums: number, other?: string): Loop => ({
    name,
    dots: 2 * sums,
    bytes: 0,
    body: Array.from({ length: 2 * sums }, (_, i) => [
      dot(`xmm${i % sums}`, 'xmm14', 'xmm15'),
      ...(other === undefined ? [] : [other.replace('TO', `xmm${10 + (i % 4)}`)]),
    ]).flat(),
  })
  return [
    loop('nothing, 8 sums as in the peak loop', 8),
    loop('nothing, 10 sums', 10),
    ...Object.entries(OTHERS).map(([name, operands]) => loop(name, 8, `${name} TO, ${operands}`)),
  ]
}

/** What a loop of a tile leaves out. */
export type Without = 'unpacking' | 'splats' | 'stored sums' | 'one product' | 'products' | 'epilogue'

const ROW = 1120
const [LOW, HIGH, SPLAT, MASK] = ['xmm12', 'xmm13', 'xmm14', 'xmm15']

/** `rows` rows by one panel and one group, scaled and added to f32 sums in memory. */
export const tile = (rows: number, isLaid: boolean, without?: Without): Loop => {
  const body: string[] = []
  const term = rows < 6 ? 'xmm11' : MASK
  const sums = Array.from({ length: rows }, (_, t) => [`xmm${2 * t}`, `xmm${2 * t + 1}`] as const)
  for (const [t, [low, high]] of sums.entries())
    body.push(`vbroadcastss ${low}, dword ptr [rcx + ${t * 256 + 128}]`, `vmovaps ${high}, ${low}`)
  for (let j = 0; j < 8; j++) {
    if (isLaid) body.push(`vmovdqu ${LOW}, [rsi + ${32 * j}]`, `vmovdqu ${HIGH}, [rsi + ${32 * j + 16}]`)
    else body.push(`vmovdqu ${HIGH}, [rsi + ${16 + 16 * j}]`)
    const isUnpacked = !isLaid && without !== 'unpacking'
    if (isUnpacked)
      body.push(
        `vpand ${LOW}, ${HIGH}, ${MASK}`,
        `vpsrlw ${HIGH}, ${HIGH}, 4`,
        `vpand ${HIGH}, ${HIGH}, ${MASK}`,
      )
    for (const [t, [low, high]] of sums.entries()) {
      if (without !== 'splats') body.push(`vbroadcastss ${SPLAT}, dword ptr [rdi + ${t * ROW + 4 * j}]`)
      body.push(dot(low, isLaid || isUnpacked ? LOW : MASK, SPLAT), dot(high, HIGH, SPLAT))
    }
  }
  if (without !== 'epilogue') body.push(`vmovups ${LOW}, [rdx + 4096]`, `vmovups ${HIGH}, [rdx + 4112]`)
  for (const [t, both] of sums.entries()) {
    if (without !== 'epilogue') body.push(`vbroadcastss ${SPLAT}, dword ptr [rcx + ${t * 256}]`)
    for (const [i, sum] of both.entries()) {
      const scale = i === 0 ? LOW : HIGH
      const at = `[rdx + ${32 * t + 16 * i}]`
      const isScaledTwice = without !== 'epilogue' && without !== 'one product' && without !== 'products'
      if (isScaledTwice) body.push(`vmulps ${term}, ${scale}, ${SPLAT}`)
      if (without !== 'epilogue') body.push(`vcvtdq2ps ${sum}, ${sum}`)
      if (without !== 'epilogue' && without !== 'products')
        body.push(`vmulps ${sum}, ${sum}, ${isScaledTwice ? term : scale}`)
      if (without === 'stored sums') continue
      body.push(
        `${without === 'epilogue' ? 'vpaddd' : 'vaddps'} ${sum}, ${sum}, ${at}`,
        `vmovups ${at}, ${sum}`,
      )
    }
  }
  const name = `${rows} rows, ${isLaid ? 'unpacked beforehand' : 'nibbles'}${without === undefined ? '' : `, without ${without}`}`
  return { name, dots: 16 * rows, body, bytes: isLaid ? 256 : 144 }
}

const GROUPS = 28

/** A program that prints the shortest time of each loop in nanoseconds per pass. Passes: GROUPS at a time. */
export const program = (loops: readonly Loop[], rounds: number): string => {
  const functions = loops.map(({ body, bytes }, i) => {
    const lines = [...body, 'add rdi, 32', `add rsi, ${bytes}`, 'add rcx, 4', 'dec rax', 'jnz 1b']
    const clobbers = Array.from({ length: 16 }, (_, r) => `"xmm${r}"`).join(', ')
    return `static void loop${i}(long passes) {
    char *rows = x, *weights = w;
    __asm__ volatile(".intel_syntax noprefix\\n.p2align 6\\n1:\\n${lines.join('\\n')}\\n.att_syntax prefix"
        : "+a"(passes), "+D"(rows), "+S"(weights) : "d"(sums), "c"(scales) : ${clobbers}, "memory");
}`
  })
  return `#include <stdio.h>
#include <time.h>
static char x[65536], w[65536];
static float sums[4096], scales[4096];
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
${functions.join('\n')}
static void (*const loops[])(long) = {${loops.map((_, i) => `loop${i}`).join(', ')}};
enum { COUNT = sizeof loops / sizeof *loops };
int main(void) {
    static double best[COUNT];
    for (int i = 0; i < 65536; i++) x[i] = (char)(37 * i), w[i] = (char)(0x30 | (11 * i & 15));
    for (int i = 0; i < 4096; i++) sums[i] = scales[i] = 0.01f;
    for (int round = 0; round < ${rounds}; round++) {
        for (int i = 0; i < COUNT; i++) {
            const double start = now();
            for (int repeat = 0; repeat < 8; repeat++) loops[i](${GROUPS});
            const double ns = (now() - start) / (8 * ${GROUPS});
            if (round == 0 || ns < best[i]) best[i] = ns;
        }
    }
    for (int i = 0; i < COUNT; i++) printf("%.4f\\n", best[i]);
    return 0;
}
`
}
