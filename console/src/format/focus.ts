/**
 * Charges in the columns of FOCUS 1.0, the FinOps Open Cost and Usage
 * Specification: the same table that `gpuaas usage export` writes.
 */

import type { Schemas } from '@/api/client';
import { csv, type Cell } from './csv';
import { isRate } from './units';

type Export = Schemas['UsageExport'];

export const COLUMNS = [
  'AvailabilityZone',
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'CommitmentDiscountCategory',
  'CommitmentDiscountId',
  'CommitmentDiscountName',
  'CommitmentDiscountStatus',
  'CommitmentDiscountType',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'SkuId',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'Tags',
  'x_InvoiceNumber',
] as const;

/** A row by the names of its columns; those that are not named are null. */
type Cells = Partial<Record<(typeof COLUMNS)[number], Cell>>;

/** What a unit's quantities are called, beside its name in the columns. */
const UNITS: Readonly<Record<string, readonly [of: string, unit: string]>> = {
  gpu_hour: ['GPU(s)', 'GPU-Hours'],
  hour: ['unit(s)', 'Hours'],
  gib_hour: ['GiB', 'GiB-Hours'],
  request: ['request(s)', 'Requests'],
  token: ['token(s)', 'Tokens'],
  job: ['job(s)', 'Jobs'],
};
const PRICING: Readonly<Record<string, string>> = { spot: 'Dynamic', reserved: 'Committed' };
const CATEGORIES: Readonly<Record<string, string>> = { credit: 'Credit', tax: 'Tax' };

const plain = (text: string) => ({ plain: text });

/** The whole table, from every part of an export. */
export function focus(parts: readonly Export[]): string {
  return csv([COLUMNS, ...parts.flatMap(focusRows)]);
}

/** Rows of the table, for a part of an export. */
export function focusRows(part: Export): Cell[][] {
  const rows = [
    ...part.charges.map((it) => usage(part, it)),
    ...part.other_charges.map((it) => other(part, it)),
  ];
  return rows.map((row) => COLUMNS.map((column) => row[column] ?? ''));
}

/** What every row says. */
function common(part: Export, costMicros: number): Cells {
  const cost = plain(decimal(costMicros));
  const seller = part.seller ?? 'gpuaas';
  return {
    BilledCost: cost,
    ContractedCost: cost,
    EffectiveCost: cost,
    ListCost: cost,
    InvoiceIssuerName: seller,
    ProviderName: seller,
    PublisherName: seller,
    BillingAccountId: part.organization_id,
    BillingAccountName: part.organization,
    BillingPeriodStart: second(part.period_start),
    BillingPeriodEnd: second(part.period_end),
    ServiceCategory: 'Compute',
    ServiceName: 'GPU compute',
  };
}

function usage(part: Export, charge: Schemas['Charge']): Cells {
  const price = decimal(charge.price_micros);
  const [of, unit] = UNITS[charge.unit] ?? ['unit(s)', 'Units'];
  const quantity = plain(isRate(charge.unit) ? hours(charge.consumed) : String(charge.consumed));
  const per = charge.per_units === 1 ? unit : `${charge.per_units} ${unit}`;
  const unitPrice = plain(
    charge.per_units === 1
      ? price
      : digits((BigInt(charge.price_micros) * 10n ** 12n) / BigInt(charge.per_units), 18),
  );
  return {
    ...common(part, charge.amount_micros),
    BillingCurrency: charge.currency,
    ChargeCategory: 'Usage',
    ChargeDescription: `${charge.quantity} ${of} of ${charge.sku} at ${price} ${charge.currency} per ${per}`,
    ChargeFrequency: 'Usage-Based',
    ChargePeriodStart: second(charge.from),
    ChargePeriodEnd: secondAfter(charge.to),
    ConsumedQuantity: quantity,
    PricingQuantity: quantity,
    ConsumedUnit: unit,
    PricingUnit: unit,
    ContractedUnitPrice: unitPrice,
    ListUnitPrice: unitPrice,
    PricingCategory: PRICING[charge.price_kind] ?? 'Standard',
    RegionId: charge.region ?? '',
    RegionName: charge.region ?? '',
    ResourceId: charge.subject_id,
    ResourceType: capitalized(charge.subject_kind),
    SkuId: charge.sku_id,
    // What is free has no price of its own, and the column is not for nulls.
    SkuPriceId: charge.price_id ?? charge.sku_id,
    SubAccountId: charge.project_id,
    SubAccountName: charge.project,
    Tags: JSON.stringify(charge.tags),
    x_InvoiceNumber: charge.invoice ?? '',
  };
}

function other(part: Export, charge: Schemas['OtherCharge']): Cells {
  const category = CATEGORIES[charge.kind] ?? 'Adjustment';
  return {
    ...common(part, charge.amount_micros),
    BillingCurrency: charge.currency,
    ChargeCategory: category,
    ChargeClass: charge.is_correction ? 'Correction' : '',
    ChargeDescription: charge.reason || category,
    ChargeFrequency: 'One-Time',
    ChargePeriodStart: second(charge.from),
    ChargePeriodEnd: secondAfter(charge.to),
    x_InvoiceNumber: charge.invoice ?? '',
  };
}

/** Without a fraction, as the specification writes moments. */
function second(at: string): string {
  return `${at.slice(0, 19)}Z`;
}

/** The second that holds the end of a period, so that it is never empty. */
function secondAfter(at: string): string {
  const isWhole = /^.{19}(\.0+)?Z$/.test(at);
  return isWhole ? second(at) : second(new Date(Date.parse(second(at)) + 1000).toISOString());
}

/** Millionths as a decimal number, exactly. */
function decimal(micros: number): string {
  return digits(BigInt(micros), 6);
}

/** `app_instance` as `App instance`. */
function capitalized(noun: string): string {
  const text = noun.replaceAll('_', ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Units times hours with twelve decimals, the rest cut off. */
function hours(micros: number): string {
  return digits((BigInt(micros) * 10n ** 12n) / 3_600_000_000n, 12);
}

function digits(scaled: bigint, places: number): string {
  const sign = scaled < 0n ? '-' : '';
  const text = String(scaled < 0n ? -scaled : scaled).padStart(places + 1, '0');
  return `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
}
