'use client'
import '../main.js'

export default function Page() {
  return <p>App</p>
}
