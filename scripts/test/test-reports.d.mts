export interface Report {
  passed: number
  failed: number
  skipped: number
  failures: { name: string; message: string }[]
}
export function readVitest(text: string): Report
export function readPlaywright(text: string): Report
export function readTap(text: string): Report
export function readSoak(text: string): Report
export function readFuzz(text: string): Report
