export default { test: { include: ['vitest.check.js'] } }
