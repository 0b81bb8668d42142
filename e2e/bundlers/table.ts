// Bundlers: how each one builds its app and starts its dev server.

interface Bundler {
  /** The bundler's name in the guide's table. */
  readonly name: string
  /** Folder in apps/. */
  readonly app: string
  /** The workspace with its packages. Default: this folder. */
  readonly workspace?: string
  /** Arguments for Node. */
  readonly build: readonly string[]
  /** The build's folder. */
  readonly out: string
  /** Arguments for Node; `PORT` stands for a port. */
  readonly dev?: readonly string[]
  /** Whether a page with networks needs an extra setting, which the variable NETWORKS turns on. */
  readonly hasNetworksApart?: boolean
}

const modules = '../../node_modules'

const vite = (name: string, folder: string, hasNetworksApart = false): Bundler => ({
  name,
  hasNetworksApart,
  app: 'vite',
  build: [`${modules}/${folder}/bin/vite.js`, 'build'],
  out: 'dist',
  dev: [`${modules}/${folder}/bin/vite.js`, '--host', '127.0.0.1', '--port', 'PORT', '--strictPort'],
})

const next = (name: string, flag: string): Bundler => ({
  name,
  app: 'next',
  build: [`${modules}/next/dist/bin/next`, 'build', flag],
  out: 'out',
  dev: [`${modules}/next/dist/bin/next`, 'dev', flag, '--hostname', '127.0.0.1', '--port', 'PORT'],
})

const angular = (name: string, workspace?: string): Bundler => ({
  name,
  ...(workspace && { workspace }),
  app: 'angular',
  build: [`${modules}/@angular/cli/bin/ng.js`, 'build'],
  out: 'dist',
  dev: ['dev.js', 'PORT'],
})

export const BUNDLERS: readonly Bundler[] = [
  vite('Vite 5', 'vite5', true),
  vite('Vite 6', 'vite6', true),
  vite('Vite 7', 'vite7', true),
  vite('Vite 8', 'vite'),
  { name: 'webpack 5', app: 'webpack', build: ['build.js'], out: 'dist', dev: ['dev.js', 'PORT'] },
  { name: 'Rollup 4', app: 'rollup', build: [`${modules}/rollup/dist/bin/rollup`, '-c'], out: 'dist' },
  { name: 'esbuild', app: 'esbuild', build: ['build.js'], out: 'dist' },
  next('Next.js 16, Turbopack', '--turbopack'),
  next('Next.js 16, webpack', '--webpack'),
  {
    name: 'SvelteKit 3',
    app: 'sveltekit',
    build: [`${modules}/vite/bin/vite.js`, 'build'],
    out: 'build',
    dev: [`${modules}/vite/bin/vite.js`, '--host', '127.0.0.1', '--port', 'PORT', '--strictPort'],
  },
  {
    name: 'Astro 7',
    app: 'astro',
    build: [`${modules}/astro/bin/astro.mjs`, 'build'],
    out: 'dist',
    dev: [`${modules}/astro/bin/astro.mjs`, 'dev', '--host', '127.0.0.1', '--port', 'PORT'],
  },
  {
    name: 'Nuxt 4',
    app: 'nuxt',
    build: [`${modules}/nuxt/bin/nuxt.mjs`, 'generate'],
    out: '.output/public',
    dev: [`${modules}/nuxt/bin/nuxt.mjs`, 'dev', '--host', '127.0.0.1', '--port', 'PORT'],
  },
  {
    name: 'React Router 8',
    app: 'react-router',
    build: [`${modules}/@react-router/dev/bin.cjs`, 'build'],
    out: 'build/client',
    dev: [`${modules}/@react-router/dev/bin.cjs`, 'dev', '--host', '127.0.0.1', '--port', 'PORT'],
  },
  angular('Angular 21', 'angular-21'),
  angular('Angular 22'),
  {
    name: 'Parcel 2',
    app: 'parcel',
    build: [`${modules}/parcel/lib/bin.js`, 'build', 'index.html', '--no-cache', '--public-url', './'],
    out: 'dist',
    dev: [
      `${modules}/parcel/lib/bin.js`,
      'index.html',
      '--no-cache',
      '--host',
      '127.0.0.1',
      '--port',
      'PORT',
    ],
  },
]
