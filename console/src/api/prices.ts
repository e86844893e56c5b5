/** Which of a SKU's prices applies to an allocation: per GPU hour, on demand. */

import type { Price } from './compute';

/** The price in force at a time, in a currency; they are never edited, only followed by others. */
export function priceAt(prices: readonly Price[], currency: string, atMs: number): Price | undefined {
  const inForce = prices.filter((it) => isOnDemand(it, currency) && Date.parse(it.effective_at) <= atMs);
  return inForce.sort((a, b) => b.effective_at.localeCompare(a.effective_at) || b.version - a.version)[0];
}

/** The next price that was announced. */
export function priceAfter(prices: readonly Price[], currency: string, atMs: number): Price | undefined {
  const later = prices.filter((it) => isOnDemand(it, currency) && Date.parse(it.effective_at) > atMs);
  return later.sort((a, b) => a.effective_at.localeCompare(b.effective_at))[0];
}

function isOnDemand(price: Price, currency: string): boolean {
  return price.currency === currency && price.unit === 'gpu_hour' && price.kind === 'on_demand';
}
