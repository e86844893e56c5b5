/** Taxes are whole hundredths of a percent; people type percents. */

const MOST = 10_000;

/** `undefined` when it is no percentage with at most two decimals. */
export function basisPoints(percent: string): number | undefined {
  const plain = percent.trim().replace(/\s*%$/, '');
  if (!/^\d{1,3}(\.\d{1,2})?$/.test(plain)) return undefined;
  const [whole = '0', part = ''] = plain.split('.');
  const points = Number(whole) * 100 + Number(part.padEnd(2, '0'));
  return points <= MOST ? points : undefined;
}

export function percentOf(points: number): string {
  return String(points / 100);
}
