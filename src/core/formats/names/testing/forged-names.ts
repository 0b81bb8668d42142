// Names that a forged file may give to leave the model's folder, or to reach something else in it.

/** None of these is a file below a folder. */
export const FORGED_NAMES: readonly string[] = [
  // The folder above.
  '..',
  '../secret',
  '../../../private/resolve/main/w.bin',
  'a/../../secret',
  'a/./w.bin',
  '1_Pooling/../../..',
  './../secret',
  '../../../../api/whoami-v2?x=',
  // The same in percent codes, once and twice.
  '%2e%2e/secret',
  '.%2e/secret',
  '..%2f..%2fsecret',
  '%252e%252e/secret',
  'w%00.bin',
  // The same with characters that address parsers drop or turn into slashes.
  '.\t./secret',
  '\t/root.bin',
  'x\n/../../..',
  '..\\..\\secret',
  '\\\\other.invalid\\x',
  'a\\..\\..\\w.bin',
  // Other hosts and schemes.
  '//other.invalid/x',
  './/other.invalid/x',
  '///other.invalid/x',
  ' //other.invalid/w.bin',
  'https://other.invalid/w.safetensors',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'C:w.bin',
  // The root, and parts that are empty.
  '/etc/passwd',
  '/../../../secret',
  'folder/',
  'a//w.bin',
  '',
  ' ',
  // Queries and fragments.
  'w.bin?delete=1',
  'w.bin#x',
  // Texts that no system stores unchanged.
  '\ud800.bin',
  'w\udc00',
  'w\u0000.bin',
  'w\u2028.bin',
  'w.bin.',
  `${'x'.repeat(1025)}`,
  // Two dots in one character.
  '\u2025/secret',
]
