// bound: as the API says
const MOST = 10;

/** Percentages parted by commas; `undefined` when one is not. */
export function parsePercents(text: string): number[] | undefined {
  const percents = text
    .split(/[\s,%]+/)
    .filter(Boolean)
    .map(Number);
  const isGood = (it: number) => Number.isInteger(it) && it >= 1 && it <= 1000;
  return percents.length <= MOST && percents.every(isGood) ? percents : undefined;
}
