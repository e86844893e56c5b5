/** Numbers of things: bytes, watts, GPU hours. */

const STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count: number): string {
  let value = count;
  let step = 0;
  while (value >= 1024 && step < STEPS.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${value >= 100 || step === 0 ? Math.round(value) : value.toFixed(1)} ${STEPS[step] ?? ''}`;
}

export function gpuHours(gpuSeconds: number): string {
  const hours = gpuSeconds / 3600;
  return new Intl.NumberFormat(undefined, { maximumFractionDigits: hours < 10 ? 2 : 1 }).format(hours);
}

/** Words that people write in capitals. */
const CAPITALS = /\b(ok|ssh|sku|gpu|maas)\b/gi;

/** `state_since` and `out_of_funds` as people write them. */
export function words(text: string): string {
  const plain = text.replace(/[._]/g, ' ').replace(CAPITALS, (it) => it.toUpperCase());
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** A count with its thousands apart. */
export function count(value: number): string {
  return new Intl.NumberFormat().format(value);
}

/** A unit as it stands after a value: `1 day`, `30 days`. */
export function unitOf(value: string, unit: string): string {
  return value === '1' ? unit.replace(/s$/, '') : unit;
}

export function plural(items: number, one: string, many = `${one}s`): string {
  return `${count(items)} ${items === 1 ? one : many}`;
}
