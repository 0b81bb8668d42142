import { Panel } from './panel.jsx'

export default function Page() {
  return (
    <main>
      <h1>Next.js</h1>
      <Panel />
    </main>
  )
}
