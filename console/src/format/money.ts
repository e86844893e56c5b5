/** Money is whole millionths of a currency; it is never shown without it. */

const MICROS = 1_000_000;

function digitsOf(currency: string): number {
  try {
    return (
      new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ??
      2
    );
  } catch {
    return 2;
  }
}

/** An amount for people. Small amounts keep digits that say something. */
export function money(micros: number, currency: string, locale?: string): string {
  const amount = micros / MICROS;
  const digits = digitsOf(currency);
  const isFine = amount !== 0 && Math.abs(amount) < 1 / 10 ** digits;
  try {
    return new Intl.NumberFormat(locale, {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: digits,
      maximumFractionDigits: isFine ? 6 : digits,
    })
      .format(amount)
      .concat(currency === 'USD' || currency === 'EUR' || currency === 'GBP' ? '' : ` ${currency}`)
      .concat(currency === 'USD' ? ' USD' : '');
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}

/** Millionths of what somebody typed; `undefined` when it is no amount. */
export function parseMoney(text: string): number | undefined {
  const plain = text.trim().replace(/[\s,_]/g, '');
  if (!/^-?\d{1,12}(\.\d{1,6})?$/.test(plain)) return undefined;
  const [whole = '0', part = ''] = plain.replace('-', '').split('.');
  const micros = Number(whole) * MICROS + Number(part.padEnd(6, '0') || '0');
  return plain.startsWith('-') ? -micros : micros;
}

/** What GPUs cost for a while, in millionths, rounded up: a hold is never less. */
export function costMicros(perGpuHour: number, gpus: number, seconds: number): number {
  return Math.ceil((perGpuHour * gpus * seconds) / 3600);
}
