// These headers let a page's threads share memory.
const headers = [
  { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
  { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
]

export default {
  headers: () => [{ source: '/(.*)', headers }],
}
