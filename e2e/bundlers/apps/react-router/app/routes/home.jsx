import { useEffect } from 'react'

export default function Home() {
  useEffect(() => {
    void import('../../main.js')
  }, [])
  return <p>App</p>
}
