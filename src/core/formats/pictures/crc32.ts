// The checksum of PNG chunks (CRC-32, ISO 3309).

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  return sum
})

export function crc32(bytes: Uint8Array): number {
  let sum = ~0
  for (const byte of bytes) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 0xff]!
  return ~sum >>> 0
}
