// Names that a forged file may use to escape the model's folder, or to reach another file in it.

/** None of these names refers to a file below the folder. */
export const FORGED_NAMES: readonly string[] = [
  // The parent folder.
  '..',
  '../secret',
  '../../../private/resolve/main/w.bin',
  'a/../../secret',
  'a/./w.bin',
  '1_Pooling/../../..',
  './../secret',
  '../../../../api/whoami-v2?x=',
  // Percent-encoded characters, once and twice.
  '%2e%2e/secret',
  '.%2e/secret',
  '..%2f..%2fsecret',
  '%252e%252e/secret',
  'w%00.bin',
  // Characters that address parsers drop or convert to slashes.
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
  // The root, and empty parts.
  '/etc/passwd',
  '/../../../secret',
  'folder/',
  'a//w.bin',
  '',
  ' ',
  // Queries and fragments.
  'w.bin?delete=1',
  'w.bin#x',
  // Strings that no system stores unchanged.
  '\ud800.bin',
  'w\udc00',
  'w\u0000.bin',
  'w\u2028.bin',
  'w.bin.',
  `${'x'.repeat(1025)}`,
  // A single character that is normalised to two dots.
  '\u2025/secret',
]
