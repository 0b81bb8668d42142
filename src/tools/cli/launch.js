#!/usr/bin/env node
// The package's command, dist/cli.js. In: the Node that runs it. Out: the command, or one sentence if this
// Node is too old to parse the command. That's why this file uses only old syntax.
var oldest = 22
var version = process.versions.node
var refusal = 'halfbyte needs Node ' + oldest + ' or newer but runs under ' + version

if (parseInt(version, 10) < oldest) {
  process.exitCode = 1
  process.stderr.write('unsupported: ' + refusal + '; install a newer Node\n')
} else {
  import('./command.js')
}
