// The code that the prompts ask a model to change.

export const INVENTORY = `class Inventory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.items = {}

    def add(self, name, count=1):
        if self.total() + count > self.capacity:
            raise ValueError("the inventory is full")
        self.items[name] = self.items.get(name, 0) + count

    def remove(self, name, count=1):
        if self.items.get(name, 0) < count:
            raise KeyError(name)
        self.items[name] -= count
        if self.items[name] == 0:
            del self.items[name]

    def total(self):
        return sum(self.items.values())

    def report(self):
        for name, count in sorted(self.items.items()):
            print(f"{name}: {count}")`

export const PARSER = `def parse_settings(text):
    settings = {}
    section = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            settings[section] = {}
            continue
        parts = line.split("=")
        if len(parts) < 2:
            raise ValueError(f"line {number} has no value")
        key = parts[0].strip()
        value = parts[1].strip()
        if section is None:
            settings[key] = value
        else:
            settings[section][key] = value
    return settings`

export const QUEUE = `export class TaskQueue {
  constructor(limit) {
    this.limit = limit
    this.running = 0
    this.waiting = []
  }

  push(task) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ task, resolve, reject })
      this.next()
    })
  }

  next() {
    if (this.running >= this.limit || this.waiting.length === 0) return
    const { task, resolve, reject } = this.waiting.shift()
    this.running += 1
    task()
      .then(resolve, reject)
      .finally(() => {
        this.running -= 1
        this.next()
      })
  }

  get size() {
    return this.running + this.waiting.length
  }
}`

export const EVENTS = `class Emitter {
  constructor() {
    this.listeners = new Map()
  }

  on(name, listener) {
    const list = this.listeners.get(name) ?? []
    list.push(listener)
    this.listeners.set(name, list)
    return () => this.off(name, listener)
  }

  off(name, listener) {
    const list = this.listeners.get(name) ?? []
    this.listeners.set(name, list.filter((each) => each !== listener))
  }

  emit(name, ...values) {
    for (const listener of this.listeners.get(name) ?? []) {
      listener(...values)
    }
  }
}`

export const SQL = `SELECT
  customers.id,
  customers.name,
  COUNT(orders.id) AS orders,
  SUM(lines.price * lines.quantity) AS total
FROM customers
JOIN orders ON orders.customer_id = customers.id
JOIN lines ON lines.order_id = orders.id
WHERE orders.created_at >= '2025-01-01'
GROUP BY customers.id, customers.name
HAVING SUM(lines.price * lines.quantity) > 100
ORDER BY total DESC
LIMIT 20;`

export const STYLES = `:root {
  --accent: #3366cc;
  --text: #222222;
  --gap: 16px;
}

.cards {
  display: grid;
  grid-template-columns: repeat(3, 1fr);
  gap: var(--gap);
}

.card {
  padding: var(--gap);
  border: 1px solid #dddddd;
  border-radius: 8px;
  color: var(--text);
}

.card h2 {
  margin: 0 0 8px;
  color: var(--accent);
}

.card button {
  padding: 8px 12px;
  border: none;
  border-radius: 4px;
  background: var(--accent);
  color: white;
}`

export const TEMPERATURES = `import csv
import statistics


def read_temperatures(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        return [(row["date"], float(row["celsius"])) for row in rows]


def warmest(temperatures):
    return max(temperatures, key=lambda entry: entry[1])


def average(temperatures):
    return statistics.mean(celsius for _, celsius in temperatures)


def days_above(temperatures, limit):
    return [date for date, celsius in temperatures if celsius > limit]


def main(path):
    temperatures = read_temperatures(path)
    date, celsius = warmest(temperatures)
    print(f"The warmest day was {date} with {celsius} °C.")
    print(f"The average was {average(temperatures):.1f} °C.")
    print(f"{len(days_above(temperatures, 25))} days were above 25 °C.")`
