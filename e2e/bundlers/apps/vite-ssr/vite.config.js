export default {
  optimizeDeps: { exclude: ['halfbyte'] },
}
