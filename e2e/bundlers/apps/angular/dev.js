// `ng serve` with or without isolation headers.
const configuration = process.env.ISOLATION === 'on' ? 'isolated' : 'plain'
process.argv.splice(
  2,
  1,
  'serve',
  '--host=127.0.0.1',
  `--port=${process.argv[2]}`,
  `--configuration=${configuration}`,
)
await import('@angular/cli/bin/ng.js')
