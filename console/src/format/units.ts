/** Units of prices and of what was used. */

import { units } from '@/strings';

/** `1.5 GPU-hours`: what is measured over time is consumed in millionths of a second. */
export function quantityOf(line: { unit: string; consumed: number }): string {
  const value = isRate(line.unit) ? line.consumed / 3_600_000_000 : line.consumed;
  const shown = new Intl.NumberFormat(undefined, { maximumFractionDigits: value < 10 ? 2 : 1 }).format(value);
  const [one, many] = namesOf(line.unit);
  return `${shown} ${shown === '1' ? one : many}`;
}

/** Whether a unit is measured over time; the others are counted. */
export function isRate(unit: string): boolean {
  return unit.endsWith('hour');
}

/** What a price is for: `GPU-hour`, `1,000,000 tokens`. */
export function priceUnit(price: { unit: string; per_units: number }): string {
  const [one, many] = namesOf(price.unit);
  return price.per_units === 1 ? one : `${new Intl.NumberFormat().format(price.per_units)} ${many}`;
}

function namesOf(unit: string): readonly [one: string, many: string] {
  return units[unit] ?? [unit, unit];
}
